/* SPDX-License-Identifier: MIT */
/*
 * The engine owns everything that runs: it builds instances from a configuration, starts sinks
 * before providers and stops them the other way round, watches deadlines, publishes the daemon's
 * own metrics, answers commands and applies a new configuration to what runs. Signals and the
 * command line are left to the caller.
 */
#ifndef TACHO_CORE_ENGINE_H
#define TACHO_CORE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/conf.h"

struct engine;

/* `conf` is taken. Nothing runs yet. */
int engine_new(struct conf *conf, struct engine **out, struct tacho_err *err);

/* Starts all. To be followed by engine_stop, also after a failure. */
int engine_start(struct engine *engine, struct tacho_err *err);

/* Stops all within two seconds. False when a plugin's call has not returned: then the engine may
 * not be freed, and the process ends with _exit. */
bool engine_stop(struct engine *engine);
void engine_free(struct engine *engine);

/* ---- requests: from any thread to the one that owns the engine ---------------------------------
 */

/* Readable when there is something to handle. */
int engine_request_fd(const struct engine *engine);

/* Asks for a reload; several at once are one, but a reload begins after each. engine_ask_reload
 * waits for it and appends its outcome, a JSON object. */
void engine_post_reload(struct engine *engine);
int engine_ask_reload(struct engine *engine, struct buf *reply, struct tacho_err *err);
void engine_post_stop(struct engine *engine);

/* Handles what was asked for; false when that was to stop. Only the owner. */
bool engine_handle(struct engine *engine);

/* ---- commands ----------------------------------------------------------------------------------
 */

/* Runs a command of an instance, or of the built-in instance "tacho"; a control_handler. */
int engine_call(void *engine, const char *instance, const char *command, const char *arguments_json,
                struct buf *reply, struct tacho_err *err);

/* One line for a person: who runs. */
void engine_describe(struct engine *engine, struct buf *out);

#endif
