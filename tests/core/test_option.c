/* SPDX-License-Identifier: MIT */
/* Options: every type from text, what is refused, and the nearest name. */
#include <string.h>

#include "core/option.h"
#include "tests/harness.h"

struct sample {
    int32_t flag;
    int64_t count;
    double ratio;
    const char *label;
    int64_t timeout_ns;
    int64_t limit_bytes;
    struct tacho_strings paths;
    const char *mode;
    const char *bare;
    struct tacho_strings none;
};

static const struct tacho_option rows[] = {
    {"flag", TACHO_BOOL, 0, offsetof(struct sample, flag), "true", 0, 0, NULL, ""},
    {"count", TACHO_INT, 0, offsetof(struct sample, count), "4", -8, 64, NULL, ""},
    {"ratio", TACHO_FLOAT, 0, offsetof(struct sample, ratio), "0.5", 0, 1, NULL, ""},
    {"label", TACHO_STRING, 0, offsetof(struct sample, label), "none", 0, 0, NULL, ""},
    {"timeout", TACHO_DURATION, 0, offsetof(struct sample, timeout_ns), "500ms", 0.01, 3600, NULL,
     ""},
    {"limit", TACHO_SIZE, 0, offsetof(struct sample, limit_bytes), "8MiB", 1024, 1e18, NULL, ""},
    {"paths", TACHO_STRINGS, 0, offsetof(struct sample, paths), "( \"/a b\", /c,\"\" )", 0, 0, NULL,
     ""},
    {"mode", TACHO_CHOICE, 0, offsetof(struct sample, mode), "fast", 0, 0, "fast|slow", ""},
    {"bare", TACHO_STRING, 0, offsetof(struct sample, bare), NULL, 0, 0, NULL, ""},
    {"none", TACHO_STRINGS, 0, offsetof(struct sample, none), NULL, 0, 0, NULL, ""},
};

static const struct module sample = {
    .path = (char *)"sample.so",
    .plugin = {.name = "sample",
               .options_size = sizeof(struct sample),
               .option_count = TACHO_COUNT(rows)},
    .options = rows,
};

static void test_presets(void)
{
    void *filled = NULL;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(option_check_presets(&sample, &err), TACHO_OK);
    CU_ASSERT_EQUAL_FATAL(option_fill(&sample, NULL, 0, &filled, &err), TACHO_OK);
    const struct sample *options = filled;
    CU_ASSERT_EQUAL(options->flag, 1);
    CU_ASSERT_EQUAL(options->count, 4);
    CU_ASSERT_EQUAL(options->ratio, 0.5);
    CU_ASSERT_STRING_EQUAL(options->label, "none");
    CU_ASSERT_EQUAL(options->timeout_ns, 500000000);
    CU_ASSERT_EQUAL(options->limit_bytes, 8 << 20);
    CU_ASSERT_EQUAL_FATAL(options->paths.count, 3);
    CU_ASSERT_STRING_EQUAL(options->paths.items[0], "/a b");
    CU_ASSERT_STRING_EQUAL(options->paths.items[1], "/c");
    CU_ASSERT_STRING_EQUAL(options->paths.items[2], "");
    CU_ASSERT_STRING_EQUAL(options->mode, "fast");
    CU_ASSERT_STRING_EQUAL(options->bare, "");
    CU_ASSERT_EQUAL(options->none.count, 0);
    CU_ASSERT_PTR_NOT_NULL(options->none.items);
    option_free(&sample, filled);
    option_free(&sample, NULL);
}

/* The text as the value of one option; NULL when it is taken, else the problem. */
static const char *refused(const char *name, const char *text)
{
    static struct tacho_err err;
    char *values[] = {(char *)text};
    struct option_text given = {(char *)name, values, 1};
    err = (struct tacho_err){0};
    int result = option_check(option_find(&sample, name), &given, &err);
    return result == TACHO_OK ? NULL : err.text;
}

static void test_taken(void)
{
    static const char *const good[][2] = {
        {"flag", "true"},        {"flag", "false"}, {"count", "-8"},   {"count", "0x10"},
        {"count", "+5"},         {"ratio", "1"},    {"ratio", ".5"},   {"ratio", "1e-3"},
        {"label", ""},           {"label", "x y"},  {"timeout", "10"}, {"timeout", "0.5"},
        {"timeout", "10 s"},     {"timeout", "1h"}, {"limit", "1024"}, {"limit", "1GB"},
        {"limit", "9999999999"}, {"mode", "slow"},  {"paths", "one"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const char *why = refused(good[i][0], good[i][1]);
        CU_ASSERT_PTR_NULL(why);
        if (why) {
            printf("%s = %s: %s\n", good[i][0], good[i][1], why);
        }
    }
}

static void test_refused(void)
{
    static const char *const bad[][3] = {
        {"flag", "1", "expected true or false, not \"1\""},
        {"flag", "True", "expected true or false, not \"True\""},
        {"count", "2.5", "expected a whole number, not \"2.5\""},
        {"count", "", "expected a whole number, not \"\""},
        {"count", " 5", "expected a whole number, not \" 5\""},
        {"count", "5 ", "expected a whole number, not \"5 \""},
        {"count", "9223372036854775808", "expected a whole number, not \"9223372036854775808\""},
        {"count", "65", "must be from -8 to 64, not 65"},
        {"count", "-9", "must be from -8 to 64, not -9"},
        {"ratio", "inf", "expected a number, not \"inf\""},
        {"ratio", "nan", "expected a number, not \"nan\""},
        {"ratio", "1e999", "expected a number, not \"1e999\""},
        {"ratio", "1.01", "must be from 0 to 1, not 1.01"},
        {"ratio", "0.5x", "expected a number, not \"0.5x\""},
        {"timeout", "5ms", "must be from 10ms to 1h, not 5ms"},
        {"timeout", "-1s", "expected a duration such as \"500ms\", \"10s\" or \"2h\", not \"-1s\""},
        {"limit", "1000", "must be at least 1KiB, not 1000"},
        {"limit", "1 QB", "expected a size such as \"8MiB\" or \"1GB\", not \"1 QB\""},
        {"mode", "Fast", "expected one of fast, slow, not \"Fast\"; did you mean \"fast\"?"},
        {"mode", "", "expected one of fast, slow, not \"\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *why = refused(bad[i][0], bad[i][1]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(why);
        CU_ASSERT_STRING_EQUAL(why, bad[i][2]);
    }
}

static void test_lists(void)
{
    char *three[] = {(char *)"a", (char *)"b", (char *)"c"};
    struct option_text list = {(char *)"paths", three, 3}, count = {(char *)"count", three, 3};
    struct option_text both[] = {list, {(char *)"mode", three, 1}};
    struct tacho_err err = {0};
    void *filled = NULL;
    CU_ASSERT_EQUAL(option_check(option_find(&sample, "paths"), &list, &err), TACHO_OK);
    CU_ASSERT_EQUAL(option_check(option_find(&sample, "count"), &count, &err), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "expected one integer, not a list of 3");

    CU_ASSERT_EQUAL_FATAL(option_fill(&sample, &list, 1, &filled, NULL), TACHO_OK);
    const struct sample *options = filled;
    CU_ASSERT_EQUAL(options->paths.count, 3);
    CU_ASSERT_STRING_EQUAL(options->paths.items[2], "c");
    option_free(&sample, filled);

    err = (struct tacho_err){0};
    CU_ASSERT_EQUAL(option_fill(&sample, both, 2, &filled, &err), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "mode: expected one of fast, slow, not \"a\"");
    both[1].name = (char *)"colour";
    err = (struct tacho_err){0};
    CU_ASSERT_EQUAL(option_fill(&sample, both, 2, &filled, &err), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "colour: plugin sample has no such option");
}

static void test_bad_tables(void)
{
    struct tacho_option own[] = {{"count", TACHO_INT, 0, 0, "many", 0, 0, NULL, ""}};
    struct module module = {.path = (char *)"x.so",
                            .plugin = {.name = "x", .options_size = 8, .option_count = 1},
                            .options = own};
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(option_check_presets(&module, &err), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "plugin x.so: the preset of option \"count\": expected a "
                                     "whole number, not \"many\"");
    own[0].preset = NULL;
    own[0].flags = TACHO_REQUIRED;
    void *filled = NULL;
    err = (struct tacho_err){0};
    CU_ASSERT_EQUAL(option_check_presets(&module, &err), TACHO_OK);
    CU_ASSERT_EQUAL(option_fill(&module, NULL, 0, &filled, &err), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "count: is required");
}

static void test_nearest(void)
{
    static const char *const names[] = {"interval", "queue", "overflow", "gpu", "warn"};
    CU_ASSERT_STRING_EQUAL(option_nearest("intreval", names, 5), "interval");
    CU_ASSERT_STRING_EQUAL(option_nearest("qeue", names, 5), "queue");
    CU_ASSERT_STRING_EQUAL(option_nearest("gpus", names, 5), "gpu");
    CU_ASSERT_STRING_EQUAL(option_nearest("warning", names, 5), "warn");
    CU_ASSERT_STRING_EQUAL(option_nearest("queue", names, 5), "queue");
    CU_ASSERT_PTR_NULL(option_nearest("colour", names, 5));
    CU_ASSERT_PTR_NULL(option_nearest("", names, 5));
    CU_ASSERT_PTR_NULL(option_nearest("x", names, 5));
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_PTR_NULL(option_nearest(longest, names, 5));
}

const struct test tests[] = {
    {"presets", test_presets},
    {"taken", test_taken},
    {"refused", test_refused},
    {"lists", test_lists},
    {"bad_tables", test_bad_tables},
    {"nearest", test_nearest},
    {NULL, NULL},
};
