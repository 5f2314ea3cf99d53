/* SPDX-License-Identifier: MIT */
/* Cadence and pauses; see schedule.h. A pause ends on a slot, so that an instance which recovers is
 * back on its cadence. */
#include "core/schedule.h"

#include "core/clock.h"
#include "core/plugin.h"

/* What is not on this machine is asked for again in case it arrives (a driver is installed). */
#define UNSUPPORTED_FIRST_NS (30 * NS_PER_S)
#define UNSUPPORTED_LONGEST_NS (300 * NS_PER_S)
#define REOPEN_FIRST_NS (100 * NS_PER_MS)

void schedule_init(struct schedule *schedule, int64_t base_ns, int64_t interval_ns,
                   int64_t longest_ns)
{
    *schedule = (struct schedule){.base_ns = base_ns,
                                  .interval_ns = interval_ns > 0 ? interval_ns : NS_PER_S,
                                  .longest_ns = longest_ns,
                                  .next_ns = base_ns};
}

/* The first slot at or after a time. */
static int64_t slot_at(const struct schedule *schedule, int64_t mono_ns)
{
    if (mono_ns <= schedule->base_ns) {
        return schedule->base_ns;
    }
    int64_t slots =
        (mono_ns - schedule->base_ns + schedule->interval_ns - 1) / schedule->interval_ns;
    return schedule->base_ns + slots * schedule->interval_ns;
}

int64_t schedule_pause(int64_t first_ns, int64_t longest_ns, uint32_t failures)
{
    int64_t pause_ns = first_ns;
    for (uint32_t i = 1; i < failures && pause_ns < longest_ns; i++) {
        pause_ns *= 2;
    }
    if (pause_ns > longest_ns) {
        pause_ns = longest_ns;
    }
    return pause_ns > first_ns ? pause_ns : first_ns;
}

bool schedule_failed(int result)
{
    return result != TACHO_OK && result != TACHO_NO_DATA && result != TACHO_PARTIAL &&
           result != TACHO_DEVICE_LOST;
}

static int64_t pause_after(const struct schedule *schedule, int result)
{
    int64_t first_ns = schedule->interval_ns;
    switch (result) {
    case TACHO_UNSUPPORTED:
        return schedule_pause(UNSUPPORTED_FIRST_NS, UNSUPPORTED_LONGEST_NS, schedule->failures);
    case TACHO_FATAL: first_ns = first_ns > REOPEN_FIRST_NS ? first_ns : REOPEN_FIRST_NS; break;
    default: break;
    }
    return schedule_pause(first_ns, schedule->longest_ns, schedule->failures);
}

uint64_t schedule_after(struct schedule *schedule, int result, int64_t now_ns)
{
    int64_t planned_ns = schedule->next_ns;
    if (result == TACHO_CONFIG) {
        schedule->failures++;
        schedule->next_ns = SCHEDULE_NEVER;
        return 0;
    }
    if (schedule_failed(result)) {
        schedule->failures++;
        schedule->next_ns = slot_at(schedule, now_ns + pause_after(schedule, result));
        return 0;
    }
    schedule->failures = 0;
    schedule->next_ns = slot_at(schedule, now_ns > planned_ns ? now_ns : planned_ns + 1);
    int64_t due_ns = slot_at(schedule, planned_ns + 1);
    return (uint64_t)((schedule->next_ns - due_ns) / schedule->interval_ns);
}

void schedule_now(struct schedule *schedule, int64_t now_ns)
{
    schedule->next_ns = now_ns;
    schedule->failures = 0;
}
