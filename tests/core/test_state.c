/* SPDX-License-Identifier: MIT */
/* The state: newest batches, events, and a minute of history. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/metric.h"
#include "core/state.h"
#include "tests/harness.h"

#define BEGIN_NS (INT64_C(1700000000) * NS_PER_S)

static int32_t power, util;

struct source {
    struct batch_pool *pool;
    uint64_t seq;
};

static struct source make_source(const char *host, const char *name)
{
    power = (int32_t)metric_find("gpu.power")->id;
    util = (int32_t)metric_find("gpu.utilization")->id;
    return (struct source){.pool = batch_pool_new("lab", host, name, 1, NULL)};
}

/* A reading of a GPU at a time; NaN for absent. */
static struct tacho_batch *reading(struct source *source, int64_t wall_ns, double watts)
{
    struct tacho_batch *batch = batch_new(source->pool);
    batch_stamp(batch, wall_ns, 0);
    batch_entity(batch, "gpu", "GPU-1", -1, 0);
    batch_f64(batch, power, watts);
    return batch;
}

static void give(struct state *state, struct source *source, struct tacho_batch *batch)
{
    batch_seal(batch, source->seq++);
    state_update(state, batch);
    batch_unref(batch);
}

static uint32_t history(struct state *state, struct state_point *out, uint32_t size)
{
    return state_history(state, "node", "gpu", "GPU-1", (uint32_t)power, out, size);
}

static void test_newest_of_each_source(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml"), other = make_source("a-node", "nvml");
    give(state, &nvml, reading(&nvml, BEGIN_NS, 1));
    give(state, &nvml, reading(&nvml, BEGIN_NS + NS_PER_S, 2));
    give(state, &other, reading(&other, BEGIN_NS, 3));
    struct tacho_snapshot *snapshot = state_snapshot(state);
    CU_ASSERT_EQUAL_FATAL(state_snapshot_count(snapshot), 2);
    CU_ASSERT_STRING_EQUAL(state_snapshot_at(snapshot, 0)->host, "a-node");
    CU_ASSERT_EQUAL(state_snapshot_at(snapshot, 1)->entities[0].values[0].as.f64, 2);
    CU_ASSERT_PTR_NULL(state_snapshot_at(snapshot, 2));
    give(state, &nvml, reading(&nvml, BEGIN_NS + 2 * NS_PER_S, 4));
    CU_ASSERT_EQUAL(state_snapshot_at(snapshot, 1)->entities[0].values[0].as.f64, 2);
    state_snapshot_free(snapshot);
    state_free(state);
    batch_pool_free(nvml.pool);
    batch_pool_free(other.pool);
}

static void test_late_batches_do_not_go_back(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml");
    nvml.seq = 10;
    give(state, &nvml, reading(&nvml, BEGIN_NS + NS_PER_S, 1));
    nvml.seq = 5;
    give(state, &nvml, reading(&nvml, BEGIN_NS, 2));
    struct tacho_snapshot *snapshot = state_snapshot(state);
    CU_ASSERT_EQUAL(state_snapshot_at(snapshot, 0)->seq, 10);
    state_snapshot_free(snapshot);
    struct tacho_batch *again = reading(&nvml, BEGIN_NS, 2);
    batch_mark(again, TACHO_REPLAYED);
    nvml.seq = 6;
    give(state, &nvml, again);
    snapshot = state_snapshot(state);
    CU_ASSERT_EQUAL(state_snapshot_at(snapshot, 0)->seq, 6);
    state_snapshot_free(snapshot);
    struct state_point points[8];
    CU_ASSERT_EQUAL(history(state, points, 8), 1);
    state_free(state);
    batch_pool_free(nvml.pool);
}

static void test_events_stay_apart(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml");
    for (int i = 0; i < 300; i++) {
        struct tacho_batch *batch = reading(&nvml, BEGIN_NS + i, 1);
        batch_event(batch, "xid", TACHO_SEVERITY_CRITICAL, "fell off the bus");
        give(state, &nvml, batch);
    }
    const struct tacho_batch *events[300];
    CU_ASSERT_EQUAL_FATAL(state_events(state, events, 300), 256);
    CU_ASSERT_EQUAL(events[0]->seq, 44);
    CU_ASSERT_EQUAL(events[255]->seq, 299);
    for (int i = 0; i < 256; i++) {
        batch_unref(events[i]);
    }
    CU_ASSERT_EQUAL_FATAL(state_events(state, events, 2), 2);
    CU_ASSERT_EQUAL(events[1]->seq, 299);
    batch_unref(events[0]);
    batch_unref(events[1]);
    struct tacho_snapshot *snapshot = state_snapshot(state);
    CU_ASSERT_EQUAL(state_snapshot_count(snapshot), 0);
    state_snapshot_free(snapshot);
    state_free(state);
    batch_pool_free(nvml.pool);
}

static void test_history_is_a_minute(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml");
    struct state_point points[700];
    for (int i = 0; i < 3000; i++) {
        give(state, &nvml,
             reading(&nvml, BEGIN_NS + i * 100 * NS_PER_MS, i == 2990 ? (double)NAN : i));
    }
    uint32_t count = history(state, points, 700);
    CU_ASSERT_EQUAL_FATAL(count, 600); /* 601 moments, one of them absent */
    CU_ASSERT_EQUAL(points[0].number, 2399);
    CU_ASSERT_EQUAL(points[count - 1].number, 2999);
    for (uint32_t i = 1; i < count; i++) {
        CU_ASSERT_TRUE(points[i].wall_ns > points[i - 1].wall_ns);
    }
    CU_ASSERT_EQUAL(history(state, points, 10), 10);
    CU_ASSERT_EQUAL(points[9].number, 2999);
    CU_ASSERT_EQUAL(state_history(state, "node", "gpu", "GPU-2", (uint32_t)power, points, 10), 0);
    CU_ASSERT_EQUAL(state_history(state, "moon", "gpu", "GPU-1", (uint32_t)power, points, 10), 0);
    state_free(state);
    batch_pool_free(nvml.pool);
}

static void test_fast_sources_are_thinned(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml");
    struct state_point points[2000];
    for (int i = 0; i < 20000; i++) {
        give(state, &nvml, reading(&nvml, BEGIN_NS + i * 5 * NS_PER_MS, i));
    }
    uint32_t count = history(state, points, 2000);
    CU_ASSERT_TRUE(count >= 550 && count <= 670);
    for (uint32_t i = 1; i < count; i++) {
        CU_ASSERT_TRUE(points[i].wall_ns - points[i - 1].wall_ns >= 90 * NS_PER_MS);
    }
    state_free(state);
    batch_pool_free(nvml.pool);
}

static void test_history_survives_a_new_schema(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml");
    struct state_point points[100];
    for (int i = 0; i < 40; i++) {
        struct tacho_batch *batch = batch_new(nvml.pool);
        batch_stamp(batch, BEGIN_NS + i * NS_PER_S, 0);
        if (i >= 20) { /* another card comes, in front of the first */
            batch_entity(batch, "gpu", "GPU-0", -1, 0);
            batch_f64(batch, util, 1);
            batch_f64(batch, power, -1);
        }
        batch_entity(batch, "gpu", "GPU-1", -1, 0);
        batch_f64(batch, power, i);
        give(state, &nvml, batch);
    }
    CU_ASSERT_EQUAL_FATAL(history(state, points, 100), 40);
    for (int i = 0; i < 40; i++) {
        CU_ASSERT_EQUAL(points[i].number, i);
    }
    CU_ASSERT_EQUAL(state_history(state, "node", "gpu", "GPU-0", (uint32_t)util, points, 100), 20);
    state_free(state);
    batch_pool_free(nvml.pool);
}

static void test_stand_ins_share_one_history(void)
{
    struct state *state = state_new();
    struct source nvml = make_source("node", "nvml"), smi = make_source("node", "nvidia_smi");
    struct state_point points[100];
    for (int i = 0; i < 10; i++) {
        give(state, &nvml, reading(&nvml, BEGIN_NS + i * NS_PER_S, i));
    }
    state_hide(state, "node", "nvml");
    for (int i = 10; i < 20; i++) {
        give(state, &smi, reading(&smi, BEGIN_NS + i * NS_PER_S, i));
    }
    struct tacho_snapshot *snapshot = state_snapshot(state);
    CU_ASSERT_EQUAL(state_snapshot_count(snapshot), 1);
    state_snapshot_free(snapshot);
    CU_ASSERT_EQUAL_FATAL(history(state, points, 100), 20);
    for (int i = 0; i < 20; i++) {
        CU_ASSERT_EQUAL(points[i].number, i);
    }
    state_free(state);
    batch_pool_free(nvml.pool);
    batch_pool_free(smi.pool);
}

struct reader {
    struct state *state;
    atomic_bool ends;
};

static void *read_on(void *argument)
{
    struct reader *reader = argument;
    struct state_point points[100];
    while (!atomic_load(&reader->ends)) {
        struct tacho_snapshot *snapshot = state_snapshot(reader->state);
        for (uint32_t i = 0; i < state_snapshot_count(snapshot); i++) {
            CU_ASSERT_EQUAL(state_snapshot_at(snapshot, i)->entity_count, 1);
        }
        state_snapshot_free(snapshot);
        history(reader->state, points, 100);
    }
    return NULL;
}

static void test_reading_while_writing(void)
{
    struct reader reader = {.state = state_new()};
    struct source nvml = make_source("node", "nvml");
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, read_on, &reader), 0);
    for (int i = 0; i < 3000; i++) {
        give(reader.state, &nvml, reading(&nvml, BEGIN_NS + i * NS_PER_S, i));
    }
    atomic_store(&reader.ends, true);
    pthread_join(thread, NULL);
    state_free(reader.state);
    batch_pool_free(nvml.pool);
}

const struct test tests[] = {
    {"newest_of_each_source", test_newest_of_each_source},
    {"late_batches_do_not_go_back", test_late_batches_do_not_go_back},
    {"events_stay_apart", test_events_stay_apart},
    {"history_is_a_minute", test_history_is_a_minute},
    {"fast_sources_are_thinned", test_fast_sources_are_thinned},
    {"history_survives_a_new_schema", test_history_survives_a_new_schema},
    {"stand_ins_share_one_history", test_stand_ins_share_one_history},
    {"reading_while_writing", test_reading_while_writing},
    {NULL, NULL},
};
