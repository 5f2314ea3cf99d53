/* SPDX-License-Identifier: MIT */
/*
 * Plugins in a child process. An isolated plugin looks like any other to its caller: isolate_plugin
 * is a struct tacho_plugin whose calls start a child (the same binary, `tacho isolate`), hand it
 * the options, and exchange batches (as MessagePack), log lines, events and commands over a socket
 * pair. A child that dies makes the call under way return TACHO_FATAL with the signal's name; one
 * that does not answer is asked to stop, then SIGTERMed, then abandoned (SIGKILL only where
 * allowed), and no other is started while an abandoned one is alive.
 *
 * What stays behind the border: the state (a snapshot is empty), calls of other instances, and the
 * role of a sink. Why it is made so: core/adr.
 */
#ifndef TACHO_CORE_ISOLATE_H
#define TACHO_CORE_ISOLATE_H

#include "core/conf.h"
#include "core/plugin.h"

/* Its `options` argument is a const struct conf_instance *, to live until `close` returns. `cancel`
 * and `close` return within a second, whatever the child does. */
extern const struct tacho_plugin isolate_plugin;

/* Process id of the child behind an isolated instance (0: none), and how often one of this name
 * ended by itself since the daemon began. */
int isolate_child_pid(void *self);
uint64_t isolate_child_exits(void *self);

/* The child's side, run by `tacho isolate`: serves the parent on descriptor `fd` until it hangs up.
 */
int isolate_child_main(int fd);

#endif
