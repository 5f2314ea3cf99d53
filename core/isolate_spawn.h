/* SPDX-License-Identifier: MIT */
/* Starting the child process of an isolated plugin, and what is left of it at its end. For
 * isolate*.c only. */
#ifndef TACHO_CORE_ISOLATE_SPAWN_H
#define TACHO_CORE_ISOLATE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/plugin.h"

#define SPAWN_FD 3 /* the child's end of the socket */

/* Runs `tacho isolate 3 NAME` in a process group of its own, with no other descriptor of ours.
 * Gives its process id and our end of the socket. */
int spawn_child(const char *name, pid_t *out_pid, int *out_fd, struct tacho_err *err);

/* Whether the child has ended, without reaping it; then says how in `out`. */
bool spawn_has_ended(pid_t pid, char *out, size_t size);

/* Reaps an ended child and ends whatever is left in its process group. */
void spawn_clean_up(pid_t pid);

#endif
