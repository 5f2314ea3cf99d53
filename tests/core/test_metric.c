/* SPDX-License-Identifier: MIT */
/* The metric registry: the catalogue, what may be registered beside it, and its limit. */
#include <stdio.h>
#include <string.h>

#include "core/metric.h"
#include "tests/harness.h"

static const char *const units[] = {"",      "rpm",     "bytes",   "watts",   "joules", "celsius",
                                    "hertz", "seconds", "percent", "bytes/s", NULL};

static bool unit_known(const char *unit)
{
    for (const char *const *at = units; *at; at++) {
        if (strcmp(*at, unit) == 0) {
            return true;
        }
    }
    return strlen(unit) > 2 && strcmp(unit + strlen(unit) - 2, "/s") == 0;
}

static void test_catalogue_is_sane(void)
{
    uint32_t standard = 0;
    for (uint32_t id = 0; id < metric_count(); id++) {
        const struct metric *metric = metric_get(id);
        standard += metric->standard;
        CU_ASSERT_EQUAL(metric->id, id);
        CU_ASSERT_PTR_EQUAL(metric_find(metric->desc.name), metric);
        CU_ASSERT_TRUE(metric_name_ok(metric->desc.name));
        CU_ASSERT_TRUE(unit_known(metric->desc.unit));
        CU_ASSERT(metric->desc.kind >= TACHO_GAUGE && metric->desc.kind <= TACHO_STATE);
        CU_ASSERT(strlen(metric->desc.help) >= 4);
        CU_ASSERT(metric->desc.help[strlen(metric->desc.help) - 1] != '.');
        CU_ASSERT(!metric->desc.flags || metric->desc.kind == TACHO_STATE);
        CU_ASSERT(metric->desc.kind <= TACHO_COUNTER || !*metric->desc.unit);
        /* A bare number called total would take a counter's name on a metrics page. */
        const char *last = strrchr(metric->desc.name, '.');
        CU_ASSERT(metric->desc.kind == TACHO_COUNTER || *metric->desc.unit ||
                  strcmp(last ? last : "", ".total") != 0);
        uint32_t same;
        CU_ASSERT_EQUAL(metric_register(&metric->desc, &same, NULL), TACHO_OK);
        CU_ASSERT_EQUAL(same, id);
    }
    CU_ASSERT(standard > 50);
    CU_ASSERT_PTR_NULL(metric_get(metric_count()));
    CU_ASSERT_PTR_NULL(metric_find("no.such"));
}

static void test_flags_are_split(void)
{
    const struct metric *throttle = metric_find("gpu.throttle");
    CU_ASSERT_EQUAL(throttle->flag_count, 9);
    CU_ASSERT_STRING_EQUAL(throttle->flag_names[0], "gpu_idle");
    CU_ASSERT_STRING_EQUAL(throttle->flag_names[8], "display_clocks");
}

static void test_names(void)
{
    static const char *const good[] = {"a", "a.b", "a_b.c9", "gpu.memory.used", NULL};
    static const char *const bad[] = {"",    "A",   "9a",  "_a",       ".a", "a.", "a..b",
                                      "a b", "a-b", "a/b", "\xC3\xBC", "aB", NULL};
    for (const char *const *name = good; *name; name++) {
        CU_ASSERT_TRUE(metric_name_ok(*name));
    }
    for (const char *const *name = bad; *name; name++) {
        CU_ASSERT_FALSE(metric_name_ok(*name));
    }
    char name[METRIC_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    name[METRIC_NAME_MAX + 1] = '\0';
    CU_ASSERT_FALSE(metric_name_ok(name));
    name[METRIC_NAME_MAX] = '\0';
    CU_ASSERT_TRUE(metric_name_ok(name));
}

static void check_refused(const struct tacho_metric *metric, const char *said)
{
    struct tacho_err err = {0};
    uint32_t id = 77, before = metric_count();
    CU_ASSERT_EQUAL(metric_register(metric, &id, &err), TACHO_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, said));
    if (!strstr(err.text, said)) {
        printf("    said: %s\n", err.text);
    }
    CU_ASSERT_EQUAL(id, 77);
    CU_ASSERT_EQUAL(metric_count(), before);
}

#define METRIC_OF(...) (&(struct tacho_metric){__VA_ARGS__})

static void test_bad_descriptions_are_refused(void)
{
    char many[400] = "a";
    for (int i = 0; i < 64; i++) {
        memcpy(many + 1 + 2 * i, "|b", 3);
    }
    check_refused(METRIC_OF(.name = NULL, .unit = "", .kind = TACHO_GAUGE), "metric name");
    check_refused(METRIC_OF(.name = "Bad", .unit = "", .kind = TACHO_GAUGE), "\"Bad\"");
    check_refused(METRIC_OF(.name = "t.x", .kind = TACHO_GAUGE), "has no unit");
    check_refused(METRIC_OF(.name = "t.x",
                            .unit = "\xB0"
                                    "C",
                            .kind = TACHO_GAUGE),
                  "not UTF-8");
    check_refused(METRIC_OF(.name = "t.x", .unit = "a\nb", .kind = TACHO_GAUGE), "unit");
    check_refused(METRIC_OF(.name = "t.x", .unit = ""), "unknown kind 0");
    check_refused(METRIC_OF(.name = "t.x", .unit = "", .kind = 5), "unknown kind 5");
    check_refused(METRIC_OF(.name = "t.x", .unit = "", .kind = TACHO_STATE, .flags = ""), "flags");
    check_refused(METRIC_OF(.name = "t.x", .unit = "", .kind = TACHO_STATE, .flags = "a||b"),
                  "flags");
    check_refused(METRIC_OF(.name = "t.x", .unit = "", .kind = TACHO_STATE, .flags = many), "64");
    check_refused(METRIC_OF(.name = "t.x", .unit = "", .kind = TACHO_GAUGE, .help = "a\nb"),
                  "help");
}

static void test_conflicts_are_refused(void)
{
    check_refused(METRIC_OF(.name = "gpu.power", .unit = "", .kind = TACHO_GAUGE),
                  "metric gpu.power is a gauge in \"watts\", not a gauge in \"\"");
    check_refused(METRIC_OF(.name = "gpu.power", .unit = "watts", .kind = TACHO_COUNTER),
                  "not a counter");
    check_refused(METRIC_OF(.name = "gpu.status", .unit = "", .kind = TACHO_STATE, .flags = "a|b"),
                  "has the flags \"\", not \"a|b\"");
    uint32_t id, same;
    struct tacho_metric own = {.name = "t.flags", .unit = "", .kind = TACHO_STATE, .flags = "a|b"};
    CU_ASSERT_EQUAL(metric_register(&own, &id, NULL), TACHO_OK);
    own.flags = "a|b|c"; /* A later version knows one more. */
    CU_ASSERT_EQUAL(metric_register(&own, &same, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(id, same);
    own.flags = "a|bc";
    check_refused(&own, "has the flags \"a|b\", not \"a|bc\"");
    own.flags = "b|a";
    check_refused(&own, "flags");
}

static void test_hash_depends_on_meaning(void)
{
    uint32_t a, b;
    CU_ASSERT_EQUAL(metric_register(METRIC_OF(.name = "t.a", .unit = "bytes", .kind = TACHO_GAUGE,
                                              .help = "One"),
                                    &a, NULL),
                    TACHO_OK);
    CU_ASSERT_EQUAL(metric_register(METRIC_OF(.name = "t.b", .unit = "bytes", .kind = TACHO_GAUGE,
                                              .help = "One"),
                                    &b, NULL),
                    TACHO_OK);
    CU_ASSERT_NOT_EQUAL(metric_get(a)->hash, metric_get(b)->hash);
    /* What it is on one machine it must be on all: a change here makes all stored schemas others.
     */
    CU_ASSERT_EQUAL(metric_find("gpu.power")->hash, UINT64_C(0xDFE7E4C84BDF805C));
}

static void test_kinds(void)
{
    for (int kind = TACHO_GAUGE; kind <= TACHO_STATE; kind++) {
        CU_ASSERT_EQUAL(metric_parse_kind(metric_kind_name(kind)), kind);
    }
    CU_ASSERT_STRING_EQUAL(metric_kind_name(0), "unknown");
    CU_ASSERT_EQUAL(metric_parse_kind("unknown"), 0);
    CU_ASSERT_EQUAL(metric_parse_kind(""), 0);
}

/* Last: afterwards nothing can be registered any more. */
static void test_limit(void)
{
    struct tacho_err err = {0};
    uint32_t id;
    char name[32];
    while (metric_count() < METRIC_LIMIT) {
        snprintf(name, sizeof name, "t.many_%u", metric_count());
        CU_ASSERT_EQUAL_FATAL(
            metric_register(METRIC_OF(.name = name, .unit = "", .kind = TACHO_GAUGE), &id, NULL),
            TACHO_OK);
    }
    CU_ASSERT_EQUAL(
        metric_register(METRIC_OF(.name = "t.more", .unit = "", .kind = TACHO_GAUGE), &id, &err),
        TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "16384"));
    CU_ASSERT_EQUAL(
        metric_register(METRIC_OF(.name = name, .unit = "", .kind = TACHO_GAUGE), &id, NULL),
        TACHO_OK);
}

const struct test tests[] = {
    {"catalogue_is_sane", test_catalogue_is_sane},
    {"flags_are_split", test_flags_are_split},
    {"names", test_names},
    {"bad_descriptions_are_refused", test_bad_descriptions_are_refused},
    {"conflicts_are_refused", test_conflicts_are_refused},
    {"hash_depends_on_meaning", test_hash_depends_on_meaning},
    {"kinds", test_kinds},
    {"limit", test_limit},
    {NULL, NULL},
};
