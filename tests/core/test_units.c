/* SPDX-License-Identifier: MIT */
/* Durations and sizes as people write them. */
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "tests/harness.h"

struct good {
    const char *text;
    int64_t number;
};

static void check_all(int (*parse)(const char *, int64_t *), const struct good *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t number = -1;
        int result = parse(table[i].text, &number);
        CU_ASSERT(result == 0 && number == table[i].number);
        if (result != 0 || number != table[i].number) {
            printf("    \"%s\" gives %lld\n", table[i].text, (long long)number);
        }
    }
}

static void check_bad(int (*parse)(const char *, int64_t *), const char *const *texts)
{
    for (; *texts; texts++) {
        int64_t number = 77;
        CU_ASSERT(parse(*texts, &number) == -1 && number == 77);
        if (number != 77) {
            printf("    \"%s\" gives %lld\n", *texts, (long long)number);
        }
    }
}

static void test_durations(void)
{
    static const struct good good[] = {
        {"0", 0},
        {"5", 5000000000},
        {"500ms", 500000000},
        {"10s", 10000000000},
        {"1.5h", 5400000000000},
        {"7d", 604800000000000},
        {"2m", 120000000000},
        {"2min", 120000000000},
        {"3us", 3000},
        {"3\xC2\xB5s", 3000},
        {"9ns", 9},
        {"1 s", 1000000000},
        {".5s", 500000000},
        {"1e3ms", 1000000000},
        {"0.1us", 100},
    };
    static const char *const bad[] = {"",      "s",     "-1s",  "+1s", " 1s",    "1 sec",
                                      "1h30m", "0x10s", "infs", "nan", "1..5s",  "1,5s",
                                      "1s ",   "1e99d", "300y", ".",   "10 m s", NULL};
    check_all(units_parse_duration, good, sizeof good / sizeof good[0]);
    check_bad(units_parse_duration, bad);
}

static void test_sizes(void)
{
    static const struct good good[] = {
        {"0", 0},           {"42", 42},        {"42B", 42},
        {"4k", 4096},       {"4K", 4096},      {"4kB", 4000},
        {"4KiB", 4096},     {"8MiB", 8388608}, {"1GB", 1000000000},
        {"1G", 1073741824}, {"1.5M", 1572864}, {"2TiB", 2199023255552},
        {"1 MB", 1000000},
    };
    static const char *const bad[] = {"",     "MiB",    "-1",   "1mib", "1Mb", "1KIB",
                                      "0x10", "1MiB/s", "1e30", "inf",  "1 2", NULL};
    check_all(units_parse_size, good, sizeof good / sizeof good[0]);
    check_bad(units_parse_size, bad);
}

static void test_format_duration_is_exact(void)
{
    static const struct good table[] = {
        {"0s", 0},
        {"1ns", 1},
        {"1.5us", 1500},
        {"1.5s", 1500000000},
        {"90s", 90000000000},
        {"2m", 120000000000},
        {"1h", 3600000000000},
        {"500ms", 500000000},
        {"1234.567890123s", 1234567890123},
        {"-1.5s", -1500000000},
        {"1.000000001s", 1000000001},
        {"9223372036.854775807s", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[64];
        int64_t back;
        CU_ASSERT_STRING_EQUAL(units_format_duration(table[i].number, text, sizeof text),
                               table[i].text);
        if (table[i].number >= 0 && table[i].number < INT64_C(1) << 50) {
            CU_ASSERT_EQUAL(units_parse_duration(text, &back), 0);
            CU_ASSERT_EQUAL(back, table[i].number);
        }
    }
}

static void test_format_size_is_for_people(void)
{
    static const struct good table[] = {
        {"0 B", 0},
        {"1023 B", 1023},
        {"1.0 KiB", 1024},
        {"7.8 MiB", 8178892},
        {"100 MiB", 104857600},
        {"1.0 MiB", 1048575},
        {"100 KiB", 102390},
        {"79.6 GiB", 85520809984},
        {"-2.0 KiB", -2048},
        {"8192 PiB", INT64_MAX},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char text[64];
        CU_ASSERT_STRING_EQUAL(units_format_size(table[i].number, text, sizeof text),
                               table[i].text);
        if (strcmp(text, table[i].text) != 0) {
            printf("    %s, not %s\n", text, table[i].text);
        }
    }
}

const struct test tests[] = {
    {"durations", test_durations},
    {"sizes", test_sizes},
    {"format_duration_is_exact", test_format_duration_is_exact},
    {"format_size_is_for_people", test_format_size_is_for_people},
    {NULL, NULL},
};
