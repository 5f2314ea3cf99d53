/* SPDX-License-Identifier: MIT */
/*
 * Who a process is: its user, command line and start, and what runs it (container, pod, job, unit),
 * read from /proc and told without asking any container engine. Behind tacho_host.process.
 *
 * A number alone does not name a process, since numbers are used again: the start does, too.
 */
#ifndef TACHO_CORE_PROCESS_H
#define TACHO_CORE_PROCESS_H

#include <stddef.h>

#include "core/plugin.h"

/* Fills out, as far as its struct_size goes, for a process below `proc`, the folder of the proc
 * file system. TACHO_NO_DATA when there is no such process. */
int process_read(const char *proc, int32_t pid, struct tacho_process *out, struct tacho_err *err);

/* Whether the processes seen below `proc` are those of the whole machine: 0 inside a PID
 * namespace, where the numbers that a driver tells belong to others. */
int process_sees_host(const char *proc);

/* Sets container, runtime, pod, job and unit from the text of a cgroup file, versions 1 and 2. */
void process_read_cgroup(const char *text, struct tacho_process *out);

#endif
