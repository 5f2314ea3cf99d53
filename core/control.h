/* SPDX-License-Identifier: MIT */
/*
 * The control socket: how commands reach a running daemon. A Unix stream socket, mode 0600, only
 * for the daemon's own user and root (checked by SO_PEERCRED). One request and one answer are one
 * JSON object each, on a line:
 *
 *     {"instance": "placement", "command": "select", "arguments": {"gpus": 2}}
 *     {"ok": true, "reply": …}    or    {"ok": false, "code": "retry", "error": "sentence"}
 *
 * The server runs on threads of its own: a slow command or client holds up nobody else. At most
 * CONTROL_CLIENTS at once, lines of at most CONTROL_LINE bytes, silent clients are dropped.
 */
#ifndef TACHO_CORE_CONTROL_H
#define TACHO_CORE_CONTROL_H

#include "core/buf.h"
#include "core/plugin.h"

#define CONTROL_CLIENTS 64
#define CONTROL_LINE (1u << 20)

struct control;

/* Runs one command and writes its reply, a JSON value. */
typedef int control_handler(void *context, const char *instance, const char *command,
                            const char *arguments_json, struct buf *reply, struct tacho_err *err);

/* Makes the socket (a stale one left by a dead daemon is replaced, a live one is an error). */
int control_new(const char *path, control_handler *handler, void *context, struct control **out,
                struct tacho_err *err);
void control_free(struct control *control); /* removes the socket; waits at most a second */

/* The client's side: asks the daemon at `path`. TACHO_UNSUPPORTED when no daemon listens there.
 * Waits until timeout_ns (0: for ever). The reply is a heap string, to be freed. */
int control_call(const char *path, const char *instance, const char *command,
                 const char *arguments_json, int64_t timeout_ns, char **out_reply,
                 struct tacho_err *err);

#endif
