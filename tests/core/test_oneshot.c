/* SPDX-License-Identifier: MIT */
/* Providers without a daemon: plugins by name, and chains. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/oneshot.h"
#include "tests/harness.h"

static void use_test_modules(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/modules/.libs", getenv("TACHO_BUILDDIR"));
    setenv("TACHO_PLUGIN_PATH", path, 1);
}

/* The number that the flaky of that name gave last, or -1. */
static int64_t collected(struct oneshot *oneshot, const char *source)
{
    struct tacho_snapshot *snapshot = state_snapshot(oneshot_state(oneshot));
    int64_t number = -1;
    for (uint32_t i = 0; i < state_snapshot_count(snapshot); i++) {
        const struct tacho_batch *batch = state_snapshot_at(snapshot, i);
        if (strcmp(batch->source, source) == 0) {
            number = batch->entities[0].values[0].as.i64;
        }
    }
    state_snapshot_free(snapshot);
    return number;
}

static void test_plugin_by_name(void)
{
    use_test_modules();
    struct oneshot *oneshot = oneshot_new("lab", "node");
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(oneshot_add_plugin(oneshot, "flaky", &err), TACHO_OK);
    CU_ASSERT_EQUAL(collected(oneshot, "flaky"), -1);
    CU_ASSERT_EQUAL(oneshot_collect(oneshot, &err), TACHO_OK);
    CU_ASSERT_EQUAL(oneshot_collect(oneshot, &err), TACHO_OK);
    CU_ASSERT_EQUAL(collected(oneshot, "flaky"), 2);
    CU_ASSERT_EQUAL(oneshot_add_plugin(oneshot, "recorder", &err), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "recorder is no provider");
    err = (struct tacho_err){0};
    CU_ASSERT_NOT_EQUAL(oneshot_add_plugin(oneshot, "nothing", &err), TACHO_OK);
    CU_ASSERT_EQUAL(oneshot_collect(oneshot, NULL), TACHO_OK);
    oneshot_free(oneshot);
}

static struct conf *load(const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/oneshot.conf", harness_tmpdir());
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    struct conf *conf = NULL;
    struct conf_problems problems;
    CU_ASSERT_EQUAL(conf_load(path, CONF_FULL, &conf, &problems), TACHO_OK);
    conf_problems_free(&problems);
    return conf;
}

static void test_chain(void)
{
    use_test_modules();
    char bad[4096], text[8192];
    snprintf(bad, sizeof bad, "%s/bad", harness_tmpdir());
    FILE *file = fopen(bad, "w");
    fputs("collect retry", file);
    fclose(file);
    snprintf(text, sizeof text,
             "host = \"node\"; providers = ("
             "{ plugin = \"flaky\"; name = \"one\"; chain = \"c\"; file = \"%s\"; },"
             "{ plugin = \"flaky\"; name = \"two\"; chain = \"c\"; },"
             "{ plugin = \"flaky\"; name = \"three\"; chain = \"c\"; },"
             "{ plugin = \"flaky\"; name = \"four\"; });",
             bad);
    struct conf *conf = load(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    struct oneshot *oneshot = oneshot_new(conf->fleet, conf->host);
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        CU_ASSERT_EQUAL(oneshot_add(oneshot, conf->instances[i], NULL), TACHO_OK);
    }
    CU_ASSERT_EQUAL(oneshot_collect(oneshot, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(collected(oneshot, "one"), -1);
    CU_ASSERT_EQUAL(collected(oneshot, "two"), 1);
    CU_ASSERT_EQUAL(collected(oneshot, "three"), -1);
    CU_ASSERT_EQUAL(collected(oneshot, "four"), 1);
    oneshot_free(oneshot);

    struct tacho_err err = {0};
    oneshot = oneshot_new("lab", "node");
    oneshot_add(oneshot, conf->instances[0], NULL);
    CU_ASSERT_EQUAL(oneshot_collect(oneshot, &err), TACHO_RETRY);
    CU_ASSERT_STRING_EQUAL(err.text, "collect was told to be retry");
    oneshot_free(oneshot);
    conf_free(conf);
}

const struct test tests[] = {
    {"plugin_by_name", test_plugin_by_name},
    {"chain", test_chain},
    {NULL, NULL},
};
