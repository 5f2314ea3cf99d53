/* SPDX-License-Identifier: MIT */
/*
 * When an instance is called next: an absolute cadence (base + k × interval, so that nothing
 * drifts), and the pause after each kind of failure. Pure: the caller says what time it is.
 */
#ifndef TACHO_CORE_SCHEDULE_H
#define TACHO_CORE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_NEVER INT64_MAX

struct schedule {
    int64_t base_ns; /* monotonic clock; slot 0 */
    int64_t interval_ns;
    int64_t longest_ns; /* cap of the pause after a failure */
    int64_t next_ns;    /* planned time of the next call; SCHEDULE_NEVER: waits to be told */
    uint32_t failures;  /* in a row */
};

void schedule_init(struct schedule *schedule, int64_t base_ns, int64_t interval_ns,
                   int64_t longest_ns);

/* Plans the call after one that came to `result` (enum tacho_result) at now_ns. Returns how many
 * slots have passed without a call although one was due. */
uint64_t schedule_after(struct schedule *schedule, int result, int64_t now_ns);

/* Plans a call for now, outside the cadence. */
void schedule_now(struct schedule *schedule, int64_t now_ns);

/* Whether a result is a failure, after which the pause grows. */
bool schedule_failed(int result);

/* The pause after the given number of failures in a row (at least 1): `first_ns` doubled for each
 * further one, at most longest_ns, but never less than first_ns. */
int64_t schedule_pause(int64_t first_ns, int64_t longest_ns, uint32_t failures);

#endif
