/* SPDX-License-Identifier: MIT */
/* Batches: filling, sealing, sharing, and what the schema depends on. */
#include <math.h>
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
    {"batch_outlives_its_pool", test_batch_outlives_its_pool},
    {NULL, NULL},
};
