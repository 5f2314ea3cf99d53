/* SPDX-License-Identifier: MIT */
/* Cadence without drift, and the pause after each kind of failure; on a false clock. */
#include "core/clock.h"
#include "core/plugin.h"
#include "core/schedule.h"
#include "tests/harness.h"

#define MS NS_PER_MS

static void test_no_drift(void)
{
    struct schedule schedule;
    schedule_init(&schedule, 1000, 10 * MS, 30 * NS_PER_S);
    int64_t now = schedule.next_ns;
    for (int64_t i = 1; i <= 6000; i++) {
        now = schedule.next_ns + 100 + i % 7 * MS; /* the call begins late and takes a while */
        CU_ASSERT_EQUAL(schedule_after(&schedule, TACHO_OK, now), 0);
        CU_ASSERT_EQUAL(schedule.next_ns, 1000 + i * 10 * MS);
    }
}

static void test_missed_slots_are_counted(void)
{
    struct schedule schedule;
    schedule_init(&schedule, 0, 10 * MS, 30 * NS_PER_S);
    CU_ASSERT_EQUAL(schedule_after(&schedule, TACHO_OK, 35 * MS), 3);
    CU_ASSERT_EQUAL(schedule.next_ns, 40 * MS);
    CU_ASSERT_EQUAL(schedule_after(&schedule, TACHO_OK, 50 * MS), 0);
    CU_ASSERT_EQUAL(schedule.next_ns, 50 * MS);
}

static void test_retry_backs_off_to_a_cap(void)
{
    struct schedule schedule;
    schedule_init(&schedule, 0, NS_PER_S, 30 * NS_PER_S);
    int64_t now = 0, pauses[8];
    for (int i = 0; i < 8; i++) {
        schedule_after(&schedule, TACHO_RETRY, now);
        pauses[i] = (schedule.next_ns - now) / NS_PER_S;
        now = schedule.next_ns;
    }
    static const int64_t expected[] = {1, 2, 4, 8, 16, 30, 30, 30};
    for (int i = 0; i < 8; i++) {
        CU_ASSERT_EQUAL(pauses[i], expected[i]);
    }
    schedule_after(&schedule, TACHO_OK, now);
    CU_ASSERT_EQUAL(schedule.next_ns, now + NS_PER_S);
    CU_ASSERT_EQUAL(schedule.failures, 0);
}

static void test_each_result_has_its_policy(void)
{
    struct schedule schedule;
    schedule_init(&schedule, 0, NS_PER_S, 30 * NS_PER_S);
    static const int good[] = {TACHO_OK, TACHO_NO_DATA, TACHO_PARTIAL, TACHO_DEVICE_LOST};
    for (int i = 0; i < 4; i++) {
        int64_t now = schedule.next_ns;
        schedule_after(&schedule, good[i], now + 1);
        CU_ASSERT_EQUAL(schedule.next_ns, now + NS_PER_S);
        CU_ASSERT_FALSE(schedule_failed(good[i]));
    }
    schedule_init(&schedule, 0, NS_PER_S, 30 * NS_PER_S);
    schedule_after(&schedule, TACHO_UNSUPPORTED, 0);
    CU_ASSERT_EQUAL(schedule.next_ns, 30 * NS_PER_S);
    for (int i = 0; i < 10; i++) {
        schedule_after(&schedule, TACHO_UNSUPPORTED, 0);
    }
    CU_ASSERT_EQUAL(schedule.next_ns, 300 * NS_PER_S);
    schedule_after(&schedule, TACHO_CONFIG, 0);
    CU_ASSERT_EQUAL(schedule.next_ns, SCHEDULE_NEVER);
    CU_ASSERT_TRUE(schedule_failed(12345)); /* a code of a later version */
}

static void test_reopening_does_not_spin(void)
{
    struct schedule schedule;
    schedule_init(&schedule, 0, 1 * MS, 5 * NS_PER_S);
    schedule_after(&schedule, TACHO_FATAL, 0);
    CU_ASSERT_EQUAL(schedule.next_ns, 100 * MS);
    schedule_now(&schedule, 7);
    CU_ASSERT_EQUAL(schedule.next_ns, 7);
    schedule_after(&schedule, TACHO_OK, 8); /* and it is back on its slots */
    CU_ASSERT_EQUAL(schedule.next_ns, 1 * MS);
}

static void test_long_intervals_are_never_shortened(void)
{
    CU_ASSERT_EQUAL(schedule_pause(60 * NS_PER_S, 30 * NS_PER_S, 1), 60 * NS_PER_S);
    CU_ASSERT_EQUAL(schedule_pause(60 * NS_PER_S, 30 * NS_PER_S, 9), 60 * NS_PER_S);
    CU_ASSERT_EQUAL(schedule_pause(100, 350, 3), 350);
}

const struct test tests[] = {
    {"no_drift", test_no_drift},
    {"missed_slots_are_counted", test_missed_slots_are_counted},
    {"retry_backs_off_to_a_cap", test_retry_backs_off_to_a_cap},
    {"each_result_has_its_policy", test_each_result_has_its_policy},
    {"reopening_does_not_spin", test_reopening_does_not_spin},
    {"long_intervals_are_never_shortened", test_long_intervals_are_never_shortened},
    {NULL, NULL},
};
