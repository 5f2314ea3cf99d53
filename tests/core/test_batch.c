/* SPDX-License-Identifier: MIT */
/* Batches: filling, sealing, sharing, and what the schema depends on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/metric.h"
#include "tests/harness.h"

static struct tacho_batch *open_batch(struct batch_pool *pool, const char *key)
{
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "gpu", key, -1, 0);
    batch_label(batch, "index", "0");
    batch_f64(batch, (int32_t)metric_find("gpu.utilization")->id, 12.5);
    return batch;
}

static void test_fill_and_read(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 7, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    batch_absent(batch, (int32_t)metric_find("gpu.fan")->id, TACHO_ABSENT_UNSUPPORTED);
    batch_f64(batch, (int32_t)metric_find("gpu.power")->id, NAN);
    batch_seal(batch, 42);

    struct tacho_batch_info info;
    struct tacho_entity entity;
    batch_info(batch, &info);
    CU_ASSERT_EQUAL(info.seq, 42);
    CU_ASSERT_EQUAL(info.session, 7);
    CU_ASSERT_STRING_EQUAL(info.host, "node");
    CU_ASSERT_EQUAL(batch_entity_at(batch, 0, &entity), TACHO_OK);
    CU_ASSERT_EQUAL(entity.value_count, 3);
    CU_ASSERT_STRING_EQUAL(entity.labels[0].value, "0");
    CU_ASSERT_EQUAL(entity.values[0].as.f64, 12.5);
    CU_ASSERT_EQUAL(entity.values[1].reason, TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(entity.values[2].type, TACHO_VALUE_ABSENT);
    CU_ASSERT_EQUAL(batch_entity_at(batch, 1, &entity), TACHO_NO_DATA);
    batch_unref(batch);
    batch_pool_free(pool);
}

static uint64_t schema_of(struct tacho_batch *batch)
{
    batch_seal(batch, 1);
    uint64_t schema = batch->schema;
    batch_unref(batch);
    return schema;
}

static void test_schema_depends_on_meaning_only(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    uint64_t first = schema_of(open_batch(pool, "GPU-1"));
    CU_ASSERT_EQUAL(first, schema_of(open_batch(pool, "GPU-1")));
    CU_ASSERT_NOT_EQUAL(first, schema_of(open_batch(pool, "GPU-2")));

    struct tacho_batch *more = open_batch(pool, "GPU-1");
    batch_label(more, "name", "H100");
    CU_ASSERT_NOT_EQUAL(first, schema_of(more));
    batch_pool_free(pool);
}

static void add_process(struct tacho_batch *batch, const char *key, const char *metric)
{
    batch_entity(batch, "process", key, 0, TACHO_VOLATILE);
    batch_i64(batch, (int32_t)metric_find(metric)->id, 1);
}

static void test_volatile_entities_keep_the_schema(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *one = open_batch(pool, "GPU-1");
    add_process(one, "10", "gpu.process.memory");
    add_process(one, "11", "gpu.processes");
    struct tacho_batch *other = open_batch(pool, "GPU-1");
    add_process(other, "99", "gpu.processes");
    add_process(other, "98", "gpu.process.memory");
    add_process(other, "97", "gpu.process.memory");
    uint64_t schema = schema_of(one);
    CU_ASSERT_EQUAL(schema, schema_of(other));
    CU_ASSERT_NOT_EQUAL(schema, schema_of(open_batch(pool, "GPU-1")));
    batch_pool_free(pool);
}

static void test_volatile_entities_go_behind(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    add_process(batch, "10", "gpu.process.memory");
    int32_t second = batch_entity(batch, "gpu", "GPU-2", -1, 0);
    batch_i64(batch, (int32_t)metric_find("gpu.power")->id, 5);
    batch_entity(batch, "mig", "MIG-1", second, 0);
    int32_t process = batch_entity(batch, "process", "11", second, TACHO_VOLATILE);
    batch_entity(batch, "thread", "12", process, 0); /* volatile, since its parent is */
    batch_seal(batch, 1);
    static const struct {
        const char *key;
        int32_t parent;
    } expected[] = {{"GPU-1", -1}, {"GPU-2", -1}, {"MIG-1", 1}, {"10", 0}, {"11", 1}, {"12", 4}};
    CU_ASSERT_EQUAL(batch->stable_count, 3);
    CU_ASSERT_EQUAL_FATAL(batch->entity_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        CU_ASSERT_STRING_EQUAL(batch->entities[i].key, expected[i].key);
        CU_ASSERT_EQUAL(batch->entities[i].parent, expected[i].parent);
    }
    CU_ASSERT_EQUAL(batch->entities[1].values[0].as.i64, 5);
    CU_ASSERT(batch->entities[5].flags & TACHO_VOLATILE);
    batch_unref(batch);
    batch_pool_free(pool);
}

static uint64_t schema_with_processes(struct batch_pool *pool, int count)
{
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    for (int i = 0; i < count; i++) {
        add_process(batch, "10", "gpu.process.memory");
    }
    int32_t second = batch_entity(batch, "gpu", "GPU-2", -1, 0);
    batch_entity(batch, "mig", "MIG-1", second, 0);
    return schema_of(batch);
}

static void test_processes_between_gpus_keep_the_schema(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    CU_ASSERT_EQUAL(schema_with_processes(pool, 1), schema_with_processes(pool, 5));
    batch_pool_free(pool);
}

static uint64_t schema_from(const char *fleet, const char *host, const char *source)
{
    struct batch_pool *pool = batch_pool_new(fleet, host, source, 1, NULL);
    uint64_t schema = schema_of(open_batch(pool, "GPU-1"));
    batch_pool_free(pool);
    return schema;
}

static void test_schema_names_the_origin(void)
{
    uint64_t schema = schema_from("lab", "node", "nvml");
    CU_ASSERT_EQUAL(schema, schema_from("lab", "node", "nvml"));
    CU_ASSERT_NOT_EQUAL(schema, schema_from("lob", "node", "nvml"));
    CU_ASSERT_NOT_EQUAL(schema, schema_from("lab", "nodd", "nvml"));
    CU_ASSERT_NOT_EQUAL(schema, schema_from("lab", "node", "smi"));
    CU_ASSERT_NOT_EQUAL(schema, schema_from("node", "lab", "nvml"));
    /* Stored logs name their schemas by this: it may not change by accident. */
    CU_ASSERT_EQUAL(schema, UINT64_C(0xB8A3B2ECF85A2682));
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void test_names_on_an_entity_are_unique(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    int32_t power = (int32_t)metric_find("gpu.power")->id;
    batch_label(batch, "index", "7");
    batch_label(batch, "\xFF", "first");
    batch_label(batch, "\xFE", "is U+FFFD too");
    batch_f64(batch, power, 1);
    batch_f64(batch, (int32_t)metric_find("gpu.utilization")->id, 50);
    batch_absent(batch, power, 99);
    batch_seal(batch, 1);
    CU_ASSERT_EQUAL(batch->entities[0].label_count, 2);
    CU_ASSERT_STRING_EQUAL(batch->entities[0].labels[0].value, "0");
    CU_ASSERT_EQUAL(batch->entities[0].value_count, 2);
    CU_ASSERT_EQUAL(batch->entities[0].values[0].as.f64, 50);
    CU_ASSERT_EQUAL(batch->entities[0].values[1].type, TACHO_VALUE_ABSENT);
    CU_ASSERT_EQUAL(batch->entities[0].values[1].reason, TACHO_ABSENT_ERROR);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_values_are_made_fit(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    batch_f64(batch, (int32_t)metric_find("gpu.power")->id, -INFINITY);
    batch_i64(batch, (int32_t)metric_find("gpu.throttle")->id, 5);
    batch_flags(batch, (int32_t)metric_find("gpu.pstate")->id, 5);
    batch_summary(batch, (int32_t)metric_find("gpu.fan")->id,
                  &(struct tacho_summary){.count = 1, .max = INFINITY});
    batch_i64(batch, -1, 5);
    batch_i64(batch, 1 << 20, 5);
    batch_seal(batch, 1);
    const struct tacho_value *values = batch->entities[0].values;
    CU_ASSERT_EQUAL_FATAL(batch->entities[0].value_count, 5);
    CU_ASSERT_EQUAL(values[1].type, TACHO_VALUE_ABSENT);
    CU_ASSERT_EQUAL(values[2].type, TACHO_VALUE_FLAGS);
    CU_ASSERT_EQUAL(values[3].type, TACHO_VALUE_I64);
    CU_ASSERT(isnan(values[4].as.summary->max));
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_long_and_bad_texts(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = batch_new(pool);
    size_t size = BATCH_TEXT_LIMIT + 100;
    char *text = malloc(size + 1);
    memset(text, 'x', size);
    text[size] = '\0';
    batch_entity(batch, "process", "\xC3\x28", -5, TACHO_VOLATILE);
    batch_label(batch, text, "name is cut");
    batch_text(batch, (int32_t)metric_find("gpu.status")->id, text);
    batch_seal(batch, 1);
    CU_ASSERT_STRING_EQUAL(batch->entities[0].key, "\xEF\xBF\xBD(");
    CU_ASSERT_EQUAL(batch->entities[0].parent, -1);
    CU_ASSERT_EQUAL(strlen(batch->entities[0].labels[0].name), BATCH_LABEL_LIMIT);
    CU_ASSERT_EQUAL(strlen(batch->entities[0].values[0].as.text), BATCH_TEXT_LIMIT);
    batch_unref(batch);
    batch_pool_free(pool);
    free(text);
}

static void test_metric_map(void)
{
    uint32_t ids[] = {metric_find("gpu.power")->id, metric_find("gpu.fan")->id};
    struct metric_map map = {.ids = ids, .count = 2};
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, &map);
    struct tacho_batch *batch = batch_new(pool);
    batch_f64(batch, 0, 1); /* no entity yet */
    batch_label(batch, "a", "b");
    batch_entity(batch, "gpu", "GPU-1", -1, 0);
    batch_f64(batch, 1, 30);
    batch_f64(batch, 2, 31);
    batch_f64(batch, -1, 32);
    batch_f64(batch, 0, 33);
    batch_seal(batch, 1);
    CU_ASSERT_EQUAL_FATAL(batch->entities[0].value_count, 2);
    CU_ASSERT_EQUAL(batch->entities[0].label_count, 0);
    CU_ASSERT_EQUAL(batch_find(batch, 0, ids[0])->as.f64, 33);
    CU_ASSERT_EQUAL(batch_find(batch, 0, ids[1])->as.f64, 30);
    CU_ASSERT_PTR_NULL(batch_find(batch, 0, metric_find("gpu.status")->id));
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_origin_and_stamp(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    char host[] = "other";
    batch_origin(batch, "there", host, "nvml", 3, 99);
    host[0] = 'X';
    batch_stamp(batch, 5, -7); /* no duration: until it is sealed */
    batch_seal(batch, 1);
    struct tacho_batch_info info;
    batch_info(batch, &info);
    CU_ASSERT_STRING_EQUAL(info.fleet, "there");
    CU_ASSERT_STRING_EQUAL(info.host, "other");
    CU_ASSERT_EQUAL(info.session, 3);
    CU_ASSERT_EQUAL(info.seq, 99);
    CU_ASSERT_EQUAL(info.wall_ns, 5);
    CU_ASSERT(info.duration_ns >= 0);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_events(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    batch_event(batch, "xid", TACHO_SEVERITY_WARNING, "fell off the bus");
    batch_seal(batch, 1);
    CU_ASSERT(batch->flags & TACHO_EVENT);
    CU_ASSERT_STRING_EQUAL(batch_find(batch, 0, metric_find("event.type")->id)->as.text, "xid");
    CU_ASSERT_STRING_EQUAL(batch_find(batch, 0, metric_find("event.severity")->id)->as.text,
                           "warning");
    batch_unref(batch);
    for (int reason = TACHO_ABSENT_UNSUPPORTED; reason <= TACHO_ABSENT_ERROR; reason++) {
        CU_ASSERT_EQUAL(batch_parse_reason(batch_reason_name(reason)), reason);
    }
    CU_ASSERT_EQUAL(batch_parse_reason("unknown"), 0);
    CU_ASSERT_STRING_EQUAL(batch_severity_name(77), "info");
    batch_pool_free(pool);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_entities_are_limited(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = batch_new(pool);
    for (uint32_t i = 0; i < BATCH_ENTITY_LIMIT; i++) {
        CU_ASSERT_EQUAL_FATAL(batch_entity(batch, "x", "y", -1, TACHO_VOLATILE), (int32_t)i);
    }
    CU_ASSERT_FALSE(batch->truncated);
    CU_ASSERT_EQUAL(batch_entity(batch, "x", "y", -1, TACHO_VOLATILE), -1);
    CU_ASSERT_TRUE(batch->truncated);
    batch_f64(batch, 0, 1); /* Not to the one before. */
    batch_seal(batch, 1);
    CU_ASSERT_EQUAL(batch->entity_count, BATCH_ENTITY_LIMIT);
    CU_ASSERT_EQUAL(batch->value_count, 0);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_texts_are_limited(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    char text[10001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (uint32_t i = 0; i < 2000; i++) {
        batch_text(batch, (int32_t)metric_find("gpu.status")->id, text);
    }
    CU_ASSERT_TRUE(batch->truncated);
    batch_seal(batch, 1);
    CU_ASSERT_EQUAL(batch->entities[0].value_count, 2);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_shapes_are_limited(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    for (uint32_t i = 0; i < BATCH_SHAPE_LIMIT + 5; i++) {
        char kind[16];
        snprintf(kind, sizeof kind, "kind%u", i);
        batch_entity(batch, kind, "x", 0, TACHO_VOLATILE);
    }
    batch_entity(batch, "gpu", "GPU-2", -1, 0);
    batch_seal(batch, 1);
    CU_ASSERT_TRUE(batch->truncated);
    CU_ASSERT_EQUAL(batch->shape_count, BATCH_SHAPE_LIMIT);
    CU_ASSERT_EQUAL(batch->stable_count, 2);
    CU_ASSERT_EQUAL(batch->entity_count, 2 + BATCH_SHAPE_LIMIT);
    for (uint32_t i = 2; i < batch->entity_count; i++) {
        CU_ASSERT(batch_shape_of(batch, i) < BATCH_SHAPE_LIMIT);
    }
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_batch_outlives_its_pool(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = open_batch(pool, "GPU-1");
    batch_seal(batch, 1);
    batch_ref(batch);
    batch_unref(batch);
    batch_pool_free(pool);
    CU_ASSERT_STRING_EQUAL(batch->host, "node");
    batch_unref(batch);
}

const struct test tests[] = {
    {"fill_and_read", test_fill_and_read},
    {"schema_depends_on_meaning_only", test_schema_depends_on_meaning_only},
    {"volatile_entities_keep_the_schema", test_volatile_entities_keep_the_schema},
    {"volatile_entities_go_behind", test_volatile_entities_go_behind},
    {"processes_between_gpus_keep_the_schema", test_processes_between_gpus_keep_the_schema},
    {"schema_names_the_origin", test_schema_names_the_origin},
    {"names_on_an_entity_are_unique", test_names_on_an_entity_are_unique},
    {"values_are_made_fit", test_values_are_made_fit},
    {"long_and_bad_texts", test_long_and_bad_texts},
    {"metric_map", test_metric_map},
    {"origin_and_stamp", test_origin_and_stamp},
    {"events", test_events},
    {"entities_are_limited", test_entities_are_limited},
    {"texts_are_limited", test_texts_are_limited},
    {"shapes_are_limited", test_shapes_are_limited},
    {"batch_outlives_its_pool", test_batch_outlives_its_pool},
    {NULL, NULL},
};
