/* SPDX-License-Identifier: MIT */
/* Times as RFC 3339 writes them, and back. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "tests/harness.h"

struct stamp {
    const char *text;
    int64_t ns;
};

static void test_format(void)
{
    static const struct stamp table[] = {
        {"1970-01-01T00:00:00.000000000Z", 0},
        {"1969-12-31T23:59:59.999999999Z", -1},
        {"2000-02-29T12:00:00.000000001Z", INT64_C(951825600000000001)},
        {"2026-01-31T23:59:59.123456789Z", INT64_C(1769903999123456789)},
        {"2100-03-01T00:00:00.000000000Z", INT64_C(4107542400000000000)},
        {"2262-04-11T23:47:16.854775807Z", INT64_MAX},
        {"1677-09-21T00:12:43.145224192Z", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[CLOCK_TEXT];
        CU_ASSERT_EQUAL(clock_format(table[i].ns, text), strlen(table[i].text));
        CU_ASSERT_STRING_EQUAL(text, table[i].text);
    }
}

static void test_every_day_of_three_centuries(void)
{
    for (int64_t day = -25567; day < 84000; day++) { /* 1900 to 2199 */
        int64_t ns = day * 86400 * NS_PER_S, back;
        char text[CLOCK_TEXT], expected[CLOCK_TEXT];
        time_t seconds = (time_t)(day * 86400);
        struct tm parts;
        clock_format(ns, text);
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000000000Z",
                 gmtime_r(&seconds, &parts));
        CU_ASSERT_STRING_EQUAL_FATAL(text, expected);
        CU_ASSERT_EQUAL_FATAL(clock_parse(text, &back), 0);
        CU_ASSERT_EQUAL_FATAL(back, ns);
    }
}

static void test_parse(void)
{
    static const struct stamp table[] = {
        {"1970-01-01", 0},
        {"1970-01-01T00:00", 0},
        {"1970-01-01 00:00:01", NS_PER_S},
        {"1970-01-01t00:00:01.5z", 3 * NS_PER_S / 2},
        {"1970-01-01T02:00:00+02:00", 0},
        {"1969-12-31T19:30:00-04:30", 0},
        {"1970-01-01T00:00:00.1234567899Z", 123456789},
        {"1972-06-30T23:59:60Z", INT64_C(78796800) * NS_PER_S},
        {"2024-02-29", INT64_C(1709164800) * NS_PER_S},
        {"@0", 0},
        {"@1.5", 3 * NS_PER_S / 2},
        {"@-1", -NS_PER_S},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        int64_t ns = 77;
        CU_ASSERT_EQUAL(clock_parse(table[i].text, &ns), 0);
        CU_ASSERT_EQUAL(ns, table[i].ns);
        if (ns != table[i].ns) {
            printf("    %s gives %lld\n", table[i].text, (long long)ns);
        }
    }
}

static void test_bad_times(void)
{
    static const char *const table[] = {"",
                                        "now",
                                        "2026",
                                        "2026-1-1",
                                        "2026-13-01",
                                        "2026-00-10",
                                        "2026-01-00",
                                        "2026-01-32",
                                        "2025-02-29",
                                        "2100-02-29",
                                        "2026-04-31",
                                        "2026-01-01T",
                                        "2026-01-01T24:00",
                                        "2026-01-01T12:60",
                                        "2026-01-01T12:00:61",
                                        "2026-01-01T12:00:00.Z",
                                        "2026-01-01T12:00:00+25:00",
                                        "2026-01-01T12:00:00+02",
                                        "2026-01-01T12:00:00Zulu",
                                        "2026-01-01x",
                                        "1899-12-31",
                                        "2201-01-01",
                                        "@",
                                        "@x",
                                        "@1e3",
                                        "@0x10",
                                        "@ 1",
                                        "@nan",
                                        "@99999999999",
                                        "@1-1",
                                        NULL};
    for (const char *const *text = table; *text; text++) {
        int64_t ns = 77;
        CU_ASSERT(clock_parse(*text, &ns) == -1 && ns == 77);
        if (ns != 77) {
            printf("    \"%s\" gives %lld\n", *text, (long long)ns);
        }
    }
}

static void test_clocks_go_forward(void)
{
    int64_t before = clock_mono_ns();
    clock_sleep_until(before + 2 * NS_PER_MS);
    CU_ASSERT(clock_mono_ns() >= before + 2 * NS_PER_MS);
    clock_sleep_until(before);
    clock_sleep_until(-5);
    CU_ASSERT(clock_wall_ns() > INT64_C(1700000000) * NS_PER_S);
}

const struct test tests[] = {
    {"format", test_format},
    {"every_day_of_three_centuries", test_every_day_of_three_centuries},
    {"parse", test_parse},
    {"bad_times", test_bad_times},
    {"clocks_go_forward", test_clocks_go_forward},
    {NULL, NULL},
};
