/* SPDX-License-Identifier: MIT */
/* The provider that others begin with: a good file, a bad one, none. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/plugin.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

/* As the plugin declares it. */
struct options {
    const char *path;
    double scale;
};

static const char *file_with(const char *text)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/number", harness_tmpdir());
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    return path;
}

static int collect_one(const char *text, double scale, double *out, int *out_reason)
{
    struct fakehost host;
    struct tacho_err err = {0};
    struct options options = {.path = file_with(text), .scale = scale};
    int result = TACHO_FATAL;
    fakehost_init(&host, &tacho_plugin_v1);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    const struct tacho_batch *batch = fakehost_collect(&host, self, &result, &err);
    const struct tacho_value *value = fakehost_find(batch, "file", 0, "template.value");
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    *out = value->as.f64;
    *out_reason = value->type == TACHO_VALUE_ABSENT ? value->reason : 0;
    batch_unref(batch);
    fakehost_close(&host, self);
    fakehost_fini(&host);
    return result;
}

static void test_numbers(void)
{
    double number;
    int reason;
    CU_ASSERT_EQUAL(collect_one("42.5 rest\n", 2, &number, &reason), TACHO_OK);
    CU_ASSERT_EQUAL(number, 85);
    CU_ASSERT_EQUAL(reason, 0);
    CU_ASSERT_EQUAL(collect_one("-1e3", 1, &number, &reason), TACHO_OK);
    CU_ASSERT_EQUAL(number, -1000);
}

static void test_no_number(void)
{
    double number;
    int reason;
    static const char *const bad[] = {"", "word", "nan", "inf"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(collect_one(bad[i], 1, &number, &reason), TACHO_PARTIAL);
        CU_ASSERT_EQUAL(reason, TACHO_ABSENT_ERROR);
    }
}

static void test_no_file(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    struct options options = {.path = "/nowhere/at/all", .scale = 1};
    fakehost_init(&host, &tacho_plugin_v1);
    CU_ASSERT_PTR_NULL(fakehost_open(&host, &options, &err));
    CU_ASSERT_EQUAL(err.code, TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "'/nowhere/at/all'"));
    fakehost_fini(&host);
}

const struct test tests[] = {
    {"numbers", test_numbers},
    {"no_number", test_no_number},
    {"no_file", test_no_file},
    {NULL, NULL},
};
