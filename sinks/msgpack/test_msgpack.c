/* SPDX-License-Identifier: MIT */
/* The msgpack sink: its options, what reaches the log, and what it tells of itself. */
#include <stdio.h>
#include <string.h>

#include "core/store.h"
#include "tests/fakehost.h"
#include "tests/harness.h"
#include "tests/storedata.h"

/* As in msgpack.c: what the host would fill. */
struct options {
    const char *path, *sync;
    int64_t segment_size, segment_age_ns;
    int64_t max_bytes, max_age_ns, min_free;
    int32_t compress;
};

static int host_store_open(const struct tacho_host *host, const struct tacho_store_options *options,
                           struct tacho_store **out, struct tacho_err *err)
{
    const struct store_writer writer = {.fleet = "lab",
                                        .host = "node",
                                        .stream = host->setting(host, TACHO_SETTING_INSTANCE),
                                        .version = "test",
                                        .session = 1};
    return store_open(options, &writer, out, err);
}

static void init(struct fakehost *host)
{
    fakehost_init(host, &tacho_plugin_v1);
    host->table.store_open = host_store_open;
    host->table.store_append = store_append;
    host->table.store_flush = store_flush;
    host->table.store_stats = store_stats;
    host->table.store_close = store_close;
}

static struct options preset(const char *path)
{
    return (struct options){.path = path, .sync = "1s", .segment_size = 8 << 20, .compress = 1};
}

static void test_writes_a_log(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/a/log", harness_tmpdir());
    struct options options = preset(path);
    init(&host);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    struct batch_pool *pool = batch_pool_new("lab", "node", "proc", 1, NULL);
    for (uint64_t i = 1; i <= 50; i++) {
        struct tacho_batch *batch = storedata_batch(pool, i, 2);
        CU_ASSERT_EQUAL(tacho_plugin_v1.consume(self, batch, &err), TACHO_OK);
        batch_unref(batch);
    }
    CU_ASSERT_EQUAL(tacho_plugin_v1.flush(self, &err), TACHO_OK);
    fakehost_close(&host, self);

    struct tacho_cursor *cursor = NULL;
    struct tacho_batch *batch;
    uint64_t count = 0;
    CU_ASSERT_EQUAL_FATAL(cursor_open(path, pool, &cursor, &err), TACHO_OK);
    while (cursor_next(cursor, &batch, &err) == TACHO_OK) {
        CU_ASSERT_EQUAL(storedata_check(batch), ++count);
        batch_unref(batch);
    }
    CU_ASSERT_EQUAL(count, 50);
    cursor_close(cursor);
    batch_pool_free(pool);
    fakehost_fini(&host);
}

static int open_with_sync(const char *sync, struct tacho_err *err)
{
    struct fakehost host;
    char path[128];
    snprintf(path, sizeof path, "%s/sync", harness_tmpdir());
    struct options options = preset(path);
    options.sync = sync;
    init(&host);
    *err = (struct tacho_err){0};
    void *self = fakehost_open(&host, &options, err);
    int result = self ? TACHO_OK : err->code;
    if (self) {
        fakehost_close(&host, self);
    }
    fakehost_fini(&host);
    return result;
}

static void test_sync_option(void)
{
    static const char *const good[] = {"always", "segment", "never", "1s",
                                       "250ms",  "5m",      "2",     "1h"};
    static const char *const bad[] = {"",        "sometimes", "-1s",  "0s",
                                      "1parsec", "nan",       "1e9h", "Always"};
    struct tacho_err err;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CU_ASSERT_EQUAL(open_with_sync(good[i], &err), TACHO_OK);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(open_with_sync(bad[i], &err), TACHO_CONFIG);
        CU_ASSERT_EQUAL(strncmp(err.text, "sync: ", 6), 0);
    }
}

static void test_two_sinks_on_one_folder(void)
{
    struct fakehost host, second;
    struct tacho_err err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/shared", harness_tmpdir());
    struct options options = preset(path);
    init(&host);
    init(&second);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    CU_ASSERT_PTR_NULL(fakehost_open(&second, &options, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "a folder of its own"));
    fakehost_close(&host, self);
    fakehost_fini(&host);
    fakehost_fini(&second);
}

/* A store of the test's own, that says what the test wants. */
static struct tacho_store_stats said;

static void fake_stats(const struct tacho_store *store, struct tacho_store_stats *out)
{
    (void)store;
    *out = said;
}

static void test_tells_when_degraded(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/degraded", harness_tmpdir());
    struct options options = preset(path);
    init(&host);
    host.table.store_stats = fake_stats;
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    tacho_plugin_v1.flush(self, &err);
    CU_ASSERT_EQUAL(fakehost_emitted(&host), 0);
    said = (struct tacho_store_stats){.degraded = 1, .dropped_frames = 12};
    tacho_plugin_v1.flush(self, &err);
    tacho_plugin_v1.flush(self, &err);
    CU_ASSERT_EQUAL_FATAL(fakehost_emitted(&host), 1);
    const struct tacho_batch *batch = fakehost_emitted_at(&host, 0);
    CU_ASSERT_EQUAL(fakehost_number(batch, "log", 0, "log.degraded"), 1);
    CU_ASSERT_EQUAL(fakehost_number(batch, "log", 0, "log.dropped_frames"), 12);
    said.degraded = 0;
    tacho_plugin_v1.flush(self, &err);
    CU_ASSERT_EQUAL(fakehost_emitted(&host), 2);
    fakehost_close(&host, self);
    fakehost_fini(&host);
}

const struct test tests[] = {
    {"writes_a_log", test_writes_a_log},
    {"sync_option", test_sync_option},
    {"two_sinks_on_one_folder", test_two_sinks_on_one_folder},
    {"tells_when_degraded", test_tells_when_degraded},
    {NULL, NULL},
};
