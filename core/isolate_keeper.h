/* SPDX-License-Identifier: MIT */
/*
 * The keeper of a child process: starts it, reads what it says, notices its end at once, ends it
 * step by step when asked to, and reaps it and what it leaves behind. It has a thread of its own
 * that lives as long as the child, so letting go never waits for a child that is stuck. For
 * isolate*.c only.
 *
 * Ending: hang up (the child then cancels its call and leaves), SIGTERM to its process group, then
 * SIGKILL where allowed; else the child is abandoned: nobody waits for it, no other one of the same
 * name is started while it lives, and it is reaped when it ends.
 */
#ifndef TACHO_CORE_ISOLATE_KEEPER_H
#define TACHO_CORE_ISOLATE_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/isolate_wire.h"
#include "core/plugin.h"

/* Told in place of a frame, once: payload is the sentence how the child ended, or that it does not.
 */
#define KEEPER_ENDED 0

struct keeper;

/* A frame from the child, on the keeper's thread. False: it makes no sense, end the child. */
typedef bool keeper_listener(void *context, const struct wire_head *head, const char *payload);

/* Starts a child for the instance `name` (copied). TACHO_RETRY, with the process id, while the last
 * one of that name is alive. */
int keeper_new(const char *name, bool may_kill, keeper_listener *listener, void *context,
               struct keeper **out, struct tacho_err *err);

/* Ends the child, waits for that at most KEEPER_FREE_NS, and lets go; the listener is not called
 * any more. */
#define KEEPER_FREE_NS (800 * INT64_C(1000000))
void keeper_free(struct keeper *keeper);

/* Begins to end the child and returns at once. */
void keeper_end(struct keeper *keeper);

/* Sends frames; 0, or -1 with errno. */
int keeper_send(struct keeper *keeper, const void *data, size_t length, int64_t deadline_ns);

/* Makes the keeper send WIRE_CANCEL; never blocks. */
void keeper_cancel(struct keeper *keeper);

pid_t keeper_pid(struct keeper *keeper); /* 0 once it has ended */

/* How many children of this name ended without being asked to. */
uint64_t keeper_exits(struct keeper *keeper);

#endif
