/* SPDX-License-Identifier: MIT */
/* The host table: metrics of an instance, numbering of its batches, and what a lone host lacks. */
#include <pthread.h>
#include <string.h>

#include "core/host.h"
#include "core/metric.h"
#include "tests/harness.h"

enum { THREADS = 4, EACH = 500 };

static const struct tacho_metric table[] = {
    {"gpu.power", "watts", TACHO_GAUGE, NULL, "catalogue's"},
    {"test_host.own", "", TACHO_GAUGE, NULL, "own"},
};

static const struct module module = {
    .plugin = {.name = "test", .metric_count = 2, .flags = TACHO_SYNTHETIC}, .metrics = table};

struct emitted {
    pthread_mutex_t lock;
    uint64_t count, out_of_order, numbered;
    uint32_t flags;
};

static void on_emit(void *context, struct tacho_batch *batch)
{
    struct emitted *emitted = context;
    pthread_mutex_lock(&emitted->lock);
    if (batch->numbered) {
        emitted->numbered++;
    } else {
        emitted->out_of_order += batch->seq != emitted->count++;
    }
    emitted->flags = batch->flags;
    pthread_mutex_unlock(&emitted->lock);
    batch_unref(batch);
}

static struct host_services lend(struct emitted *emitted)
{
    *emitted = (struct emitted){.lock = PTHREAD_MUTEX_INITIALIZER};
    return (struct host_services){.fleet = "lab",
                                  .host = "node",
                                  .state_dir = "/state",
                                  .session = 3,
                                  .on_emit = on_emit,
                                  .context = emitted};
}

static void *emit_many(void *argument)
{
    const struct tacho_host *table_ = argument;
    for (int i = 0; i < EACH; i++) {
        struct tacho_batch *batch = table_->batch_new(table_);
        table_->entity(batch, "gpu", "GPU-1", -1, 0);
        table_->f64(batch, 1, i);
        table_->emit(table_, batch);
    }
    return NULL;
}

static void test_batches_leave_in_order(void)
{
    struct emitted emitted;
    struct host_services services = lend(&emitted);
    struct host host;
    CU_ASSERT_EQUAL_FATAL(host_init(&host, &services, "x", &module, NULL), TACHO_OK);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, emit_many, &host.table);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CU_ASSERT_EQUAL(emitted.count, THREADS * EACH);
    CU_ASSERT_EQUAL(emitted.out_of_order, 0);
    CU_ASSERT_EQUAL(emitted.flags, TACHO_SIMULATED);
    struct tacho_batch *foreign = batch_new(host.pool);
    batch_origin(foreign, "lab", "moon", "nvml", 9, 77);
    host_publish(&host, foreign);
    CU_ASSERT_EQUAL(emitted.numbered, 1);
    CU_ASSERT_EQUAL(host_retire(&host), THREADS * EACH);
    emit_many(&host.table);
    CU_ASSERT_EQUAL(emitted.count, THREADS * EACH);
    host_fini(&host);
}

static void test_metrics_of_its_own(void)
{
    struct emitted emitted;
    struct host_services services = lend(&emitted);
    struct host host;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(host_init(&host, &services, "x", &module, NULL), TACHO_OK);
    const struct tacho_host *seen = &host.table;
    CU_ASSERT_EQUAL(seen->metric(seen, &table[0], &err), 0);
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "test_host.late_%d", i);
        struct tacho_metric late = {name, "watts", TACHO_GAUGE, NULL, ""};
        CU_ASSERT_EQUAL(seen->metric(seen, &late, &err), i + 2);
        CU_ASSERT_EQUAL(seen->metric(seen, &late, &err), i + 2);
    }
    struct tacho_metric wrong = {"gpu.power", "bytes", TACHO_GAUGE, NULL, ""};
    CU_ASSERT_EQUAL(seen->metric(seen, &wrong, &err), -1);
    CU_ASSERT_EQUAL(err.code, TACHO_CONFIG);
    struct tacho_metric info;
    CU_ASSERT_EQUAL(seen->metric_info(host.map.ids[1], &info), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(info.name, "test_host.own");
    CU_ASSERT_EQUAL(seen->metric_info(UINT32_MAX, &info), TACHO_NO_DATA);
    host_fini(&host);
}

static void test_settings_and_what_is_not_there(void)
{
    struct emitted emitted;
    struct host_services services = lend(&emitted);
    struct host host;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(host_init(&host, &services, "x", &module, NULL), TACHO_OK);
    const struct tacho_host *seen = &host.table;
    CU_ASSERT_STRING_EQUAL(seen->setting(seen, TACHO_SETTING_INSTANCE), "x");
    CU_ASSERT_STRING_EQUAL(seen->setting(seen, TACHO_SETTING_HOST), "node");
    CU_ASSERT_STRING_EQUAL(seen->setting(seen, TACHO_SETTING_STATE_DIR), "/state");
    CU_ASSERT_STRING_EQUAL(seen->setting(seen, 999), "");
    CU_ASSERT_EQUAL(seen->snapshot_count(seen->snapshot(seen)), 0);
    CU_ASSERT_EQUAL(seen->call(seen, "a", "b", "{}", NULL, &err), TACHO_UNSUPPORTED);
    host_fini(&host);
}

/* A member that is forgotten in the table would only be met by the first plugin that needs it. */
static void test_table_is_whole(void)
{
    struct emitted emitted;
    struct host_services services = lend(&emitted);
    struct host host;
    CU_ASSERT_EQUAL_FATAL(host_init(&host, &services, "x", &module, NULL), TACHO_OK);
    const char *from = (const char *)&host.table + offsetof(struct tacho_host, log);
    size_t members = (sizeof host.table - offsetof(struct tacho_host, log)) / sizeof(void *);
    for (size_t i = 0; i < members; i++) {
        void *member;
        memcpy(&member, from + i * sizeof member, sizeof member);
        CU_ASSERT_PTR_NOT_NULL(member);
    }
    host_fini(&host);
}

const struct test tests[] = {
    {"batches_leave_in_order", test_batches_leave_in_order},
    {"metrics_of_its_own", test_metrics_of_its_own},
    {"settings_and_what_is_not_there", test_settings_and_what_is_not_there},
    {"table_is_whole", test_table_is_whole},
    {NULL, NULL},
};
