/* SPDX-License-Identifier: MIT */
/*
 * Time. The monotonic clock (CLOCK_MONOTONIC) for cadence, deadlines and durations; the wall clock
 * for stamps that people read. Names of variables say which: mono_ns, wall_ns.
 */
#ifndef TACHO_CORE_CLOCK_H
#define TACHO_CORE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define NS_PER_S INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

/* Room for clock_format, its terminating NUL included. */
#define CLOCK_TEXT 32

int64_t clock_mono_ns(void);
int64_t clock_wall_ns(void);

/* Sleeps until the monotonic clock shows mono_ns; returns at once when that has passed. */
void clock_sleep_until(int64_t mono_ns);

/* RFC 3339 in UTC with nanoseconds, "2026-01-31T23:59:59.123456789Z". Returns its length. */
size_t clock_format(int64_t wall_ns, char out[CLOCK_TEXT]);

/* The reverse; fraction and time of day may be left out, the offset may be Z or +hh:mm; "@SECONDS"
 * is accepted too. 0, or -1 when text is no time. */
int clock_parse(const char *text, int64_t *out_wall_ns);

#endif
