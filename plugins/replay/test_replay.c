/* SPDX-License-Identifier: MIT */
/* The replay provider: what it plays, when, and how it ends. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/store.h"
#include "plugins/replay/replay.h"
#include "tests/fakehost.h"
#include "tests/harness.h"
#include "tests/storedata.h"

/* As in replay.c: what the host would fill. */
struct options {
    const char *path, *from, *to;
    double speed;
    int32_t loop;
};

static struct batch_pool *pool;

static int host_cursor_open(const struct tacho_host *host, const char *path,
                            struct tacho_cursor **out, struct tacho_err *err)
{
    (void)host;
    return cursor_open(path, pool, out, err);
}

static void init(struct fakehost *host)
{
    fakehost_init(host, &tacho_plugin_v1);
    host->table.cursor_open = host_cursor_open;
    host->table.cursor_seek = cursor_seek;
    host->table.cursor_next = cursor_next;
    host->table.cursor_close = cursor_close;
}

/* A log of a hundred batches, one second apart. */
static const char *log_path(void)
{
    static char path[128];
    if (path[0]) {
        return path;
    }
    snprintf(path, sizeof path, "%s/log", harness_tmpdir());
    pool = batch_pool_new("lab", "node", "proc", 3, NULL);
    const struct store_writer writer = {
        .fleet = "lab", .host = "node", .stream = "log", .version = "test", .session = 3};
    struct tacho_store_options options = {
        .struct_size = sizeof options, .path = path, .segment_bytes = 8192, .compress = 1};
    struct tacho_store *store = NULL;
    CU_ASSERT_EQUAL_FATAL(store_open(&options, &writer, &store, NULL), TACHO_OK);
    for (uint64_t i = 1; i <= 100; i++) {
        struct tacho_batch *batch = storedata_batch(pool, i, 2);
        store_append(store, batch, NULL);
        batch_unref(batch);
    }
    store_close(store);
    return path;
}

static int play(struct fakehost *host, void *self, int64_t time_ns, struct tacho_err *err)
{
    struct tacho_batch *batch = batch_new(host->pool);
    *err = (struct tacho_err){0};
    int result = tacho_plugin_v1.collect(self, batch, clock_mono_ns() + time_ns, err);
    batch_discard(batch);
    return result;
}

static void test_plays_all(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    struct options options = {.path = log_path(), .from = "", .to = ""};
    init(&host);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    CU_ASSERT_EQUAL(play(&host, self, 20 * NS_PER_S, &err), TACHO_NO_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "end of the log"));
    CU_ASSERT_EQUAL_FATAL(fakehost_emitted(&host), 100);
    for (uint32_t i = 0; i < 100; i++) {
        struct tacho_batch *batch = (struct tacho_batch *)fakehost_emitted_at(&host, i);
        CU_ASSERT_EQUAL(storedata_check(batch), i + 1);
        CU_ASSERT_STRING_EQUAL(batch->source, "proc");
        CU_ASSERT_EQUAL(batch->session, 3);
        CU_ASSERT(batch->flags & TACHO_REPLAYED);
    }
    /* The end stays the end, and costs no time. */
    CU_ASSERT_EQUAL(play(&host, self, 20 * NS_PER_S, &err), TACHO_NO_DATA);
    CU_ASSERT_EQUAL(fakehost_emitted(&host), 100);
    fakehost_close(&host, self);
    fakehost_fini(&host);
}

static void test_part(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    struct options options = {
        .path = log_path(), .from = "@1700000040", .to = "2023-11-14T22:14:19.5Z"};
    init(&host);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    CU_ASSERT_EQUAL(play(&host, self, 20 * NS_PER_S, &err), TACHO_NO_DATA);
    CU_ASSERT_EQUAL_FATAL(fakehost_emitted(&host), 20);
    CU_ASSERT_EQUAL(fakehost_emitted_at(&host, 0)->seq, 40);
    CU_ASSERT_EQUAL(fakehost_emitted_at(&host, 19)->seq, 59);
    fakehost_close(&host, self);
    fakehost_fini(&host);
}

static void test_pace(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    /* 100 seconds in one tenth of a second; never early. */
    struct options options = {.path = log_path(), .from = "", .to = "", .speed = 1000};
    init(&host);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    int64_t begin = clock_mono_ns();
    while (fakehost_emitted(&host) < 100) {
        play(&host, self, 20 * NS_PER_MS, &err);
    }
    CU_ASSERT(clock_mono_ns() - begin >= 99 * NS_PER_MS);
    fakehost_close(&host, self);
    fakehost_fini(&host);
}

static void test_loop(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    struct options options = {.path = log_path(), .from = "@1700000099", .to = "", .loop = 1};
    init(&host);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    while (fakehost_emitted(&host) < 10) {
        play(&host, self, 2 * NS_PER_MS, &err);
    }
    CU_ASSERT_EQUAL(fakehost_emitted_at(&host, 0)->seq, 99);
    CU_ASSERT_EQUAL(fakehost_emitted_at(&host, 2)->seq, 99);
    fakehost_close(&host, self);
    fakehost_fini(&host);
}

static void *cancel_soon(void *self)
{
    clock_sleep_until(clock_mono_ns() + 50 * NS_PER_MS);
    tacho_plugin_v1.cancel(self);
    return NULL;
}

static void test_cancel(void)
{
    struct fakehost host;
    struct tacho_err err = {0};
    struct options options = {.path = log_path(), .from = "", .to = "", .speed = 0.001};
    pthread_t thread;
    init(&host);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(self);
    pthread_create(&thread, NULL, cancel_soon, self);
    /* Without the cancellation this would take half of three hours. */
    CU_ASSERT_EQUAL(play(&host, self, 3 * 3600 * NS_PER_S, &err), TACHO_NO_DATA);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(fakehost_emitted(&host), 1);
    fakehost_close(&host, self);
    fakehost_fini(&host);
}

static int try_open(const char *path, const char *from, const char *to, struct tacho_err *err)
{
    struct fakehost host;
    struct options options = {.path = path, .from = from, .to = to};
    init(&host);
    *err = (struct tacho_err){0};
    void *self = fakehost_open(&host, &options, err);
    if (self) {
        fakehost_close(&host, self);
    }
    fakehost_fini(&host);
    return self ? TACHO_OK : err->code;
}

static void test_bad_options(void)
{
    struct tacho_err err;
    CU_ASSERT_EQUAL(try_open(log_path(), "", "", &err), TACHO_OK);
    CU_ASSERT_EQUAL(try_open("/nowhere", "", "", &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere"));
    CU_ASSERT_EQUAL(try_open(log_path(), "yesterday", "", &err), TACHO_CONFIG);
    CU_ASSERT_EQUAL(try_open(log_path(), "", "2026-13-01", &err), TACHO_CONFIG);
    CU_ASSERT_EQUAL(try_open(log_path(), "@20", "@10", &err), TACHO_CONFIG);
}

static void test_times(void)
{
    static const struct {
        const char *text;
        int64_t wall_ns;
    } good[] = {
        {"1970-01-01", 0},
        {"1970-01-01T00:00:01.25Z", 1250000000},
        {"1970-01-02 00:00", INT64_C(86400000000000)},
        {"1970-01-01T02:00:00+02:00", 0},
        {"1970-01-01T00:00:00-0530", INT64_C(19800000000000)},
        {"@1.5", 1500000000},
    };
    static const char *const bad[] = {"",
                                      "x",
                                      "@",
                                      "@1x",
                                      "1970-01-01T",
                                      "1970-01-01T00:00:00+2",
                                      "1970-01-01T00:00:00+02:00x",
                                      "1960-01-01",
                                      "2300-01-01",
                                      "1970-01-01T00:00:00+25:00"};
    int64_t wall_ns;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        wall_ns = -1;
        CU_ASSERT_EQUAL(replay_parse_time(good[i].text, &wall_ns), 0);
        CU_ASSERT_EQUAL(wall_ns, good[i].wall_ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CU_ASSERT_EQUAL(replay_parse_time(bad[i], &wall_ns), -1);
    }
}

const struct test tests[] = {
    {"plays_all", test_plays_all}, {"part", test_part},
    {"pace", test_pace},           {"loop", test_loop},
    {"cancel", test_cancel},       {"bad_options", test_bad_options},
    {"times", test_times},         {NULL, NULL},
};
