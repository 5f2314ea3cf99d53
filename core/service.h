/* SPDX-License-Identifier: MIT */
/*
 * Commands of an instance. The caller leaves a request and waits; the instance's own thread runs it
 * between its other calls, so that all calls of an instance are serialised and a command that hangs
 * holds up nobody: its caller gets an error after the deadline.
 */
#ifndef TACHO_CORE_SERVICE_H
#define TACHO_CORE_SERVICE_H

#include "core/buf.h"
#include "core/instance.h"

/* Runs a command and appends its reply. Waits at most the instance's deadline for its turn and then
 * the deadline for the command. Any thread but the instance's own. */
int service_call(struct instance *instance, const char *command, const char *arguments_json,
                 struct buf *reply, struct tacho_err *err);

/* For the instance's thread: runs what waits; or answers all with an error, from now on too. */
void service_answer(struct instance *instance);
void service_refuse(struct instance *instance);

#endif
