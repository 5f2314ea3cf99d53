/* SPDX-License-Identifier: MIT */
/*
 * Pools: batches come back with their memory, so that a steady source allocates nothing; they are
 * shared by threads; they outlive their pool. Allocations of our own code are counted by way of the
 * linker's --wrap.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/decode.h"
#include "core/encode.h"
#include "core/metric.h"
#include "tests/core/sample_batch.h"
#include "tests/harness.h"

static atomic_uint allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(memory, size);
}

/* One tick of a source that has a log and a dashboard behind it. */
static void tick(struct batch_pool *pool, unsigned round)
{
    const void *data;
    size_t length;
    struct tacho_batch *batch = sample_gpus(pool);
    CU_ASSERT_EQUAL(encode_batch(batch, TACHO_MSGPACK, &data, &length), TACHO_OK);
    CU_ASSERT_EQUAL(encode_batch(batch, TACHO_JSON, &data, &length), TACHO_OK);
    batch_unref(batch);
    batch = batch_new(pool);
    batch_entity(batch, "gpu", "GPU-1", -1, 0);
    for (unsigned i = 0; i < 50 + round % 10; i++) {
        batch_entity(batch, "process", "4711", 0, TACHO_VOLATILE);
        batch_label(batch, "command", "python3 train.py --model large");
        batch_text(batch, sample_metric("gpu.status"), "ok");
        batch_summary(batch, sample_metric("gpu.power"), &(struct tacho_summary){.count = 1});
    }
    batch_seal(batch, round);
    CU_ASSERT_EQUAL(encode_batch(batch, TACHO_MSGPACK, &data, &length), TACHO_OK);
    batch_unref(batch);
}

static void test_steady_source_allocates_nothing(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    for (unsigned i = 0; i < 30; i++) {
        tick(pool, i);
    }
    unsigned before = atomic_load(&allocations);
    CU_ASSERT(before > 0); /* or nothing is counted */
    for (unsigned i = 0; i < 100; i++) {
        tick(pool, i);
    }
    CU_ASSERT_EQUAL(atomic_load(&allocations), before);
    batch_pool_free(pool);
}

static void test_steady_decoder_allocates_nothing(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    struct tacho_decoder *decoder = decoder_new(pool);
    struct tacho_batch *batch = sample_fixed(pool), *back;
    const void *schema, *rows;
    size_t schema_length, rows_length;
    encode_batch(batch, TACHO_SCHEMA, &schema, &schema_length);
    encode_batch(batch, TACHO_MSGPACK, &rows, &rows_length);
    CU_ASSERT_EQUAL(decode_schema(decoder, schema, schema_length, NULL), TACHO_OK);
    unsigned before = 0;
    for (int i = 0; i < 50; i++) {
        before = i == 10 ? atomic_load(&allocations) : before;
        CU_ASSERT_EQUAL(decode_batch(decoder, rows, rows_length, &back, NULL), TACHO_OK);
        batch_seal(back, 1);
        batch_unref(back);
    }
    CU_ASSERT_EQUAL(atomic_load(&allocations), before);
    batch_unref(batch);
    decoder_free(decoder);
    batch_pool_free(pool);
}

static void test_batch_comes_back_clean(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 7, NULL);
    struct tacho_batch *batch = sample_fixed(pool);
    batch_mark((struct tacho_batch *)batch, TACHO_SIMULATED);
    const void *data;
    size_t length;
    encode_batch(batch, TACHO_JSON, &data, &length);
    batch_unref(batch);
    struct tacho_batch *again = batch_new(pool);
    CU_ASSERT_PTR_EQUAL(again, batch);
    CU_ASSERT_STRING_EQUAL(again->host, "node");
    CU_ASSERT_STRING_EQUAL(again->source, "test");
    CU_ASSERT_EQUAL(again->session, 7);
    CU_ASSERT_EQUAL(again->flags, 0);
    CU_ASSERT_EQUAL(again->entity_count, 0);
    CU_ASSERT_FALSE(again->sealed || again->numbered || again->truncated || again->mixed);
    batch_seal(again, 3);
    CU_ASSERT_EQUAL(again->seq, 3);
    CU_ASSERT(again->duration_ns >= 0);
    const void *empty;
    encode_batch(again, TACHO_JSON, &empty, &length);
    CU_ASSERT_PTR_NOT_NULL(memmem(empty, length, "\"entities\":[]", 13));
    batch_unref(again);
    batch_pool_free(pool);
}

static void test_names_of_the_pool_are_utf8(void)
{
    struct batch_pool *pool = batch_pool_new("l\xFF"
                                             "b",
                                             "", "s", 7, NULL);
    struct tacho_batch *batch = batch_new(pool);
    CU_ASSERT_STRING_EQUAL(batch->fleet, "l\xEF\xBF\xBD"
                                         "b");
    CU_ASSERT_STRING_EQUAL(batch->host, "");
    batch_discard(batch);
    batch_pool_free(pool);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

static void *read_and_let_go(void *context)
{
    const struct tacho_batch *batch = context;
    const void *data;
    size_t length;
    for (int format = TACHO_JSON; format <= TACHO_OPENMETRICS; format++) {
        if (encode_batch(batch, format, &data, &length) != TACHO_OK || length == 0) {
            abort();
        }
    }
    batch_unref(batch);
    return NULL;
}

static void test_threads_share_a_batch(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    for (int round = 0; round < ROUNDS / 10; round++) {
        pthread_t threads[THREADS];
        struct tacho_batch *batch = sample_fixed(pool);
        for (int i = 0; i < THREADS; i++) {
            pthread_create(&threads[i], NULL, read_and_let_go, (void *)batch_ref(batch));
        }
        batch_unref(batch);
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
    }
    batch_pool_free(pool);
    CU_PASS("no thread stopped");
}

static void *make_and_let_go(void *context)
{
    for (int i = 0; i < ROUNDS; i++) {
        batch_unref(sample_gpus(context));
    }
    return NULL;
}

static void test_threads_share_a_pool(void)
{
    pthread_t threads[THREADS];
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    struct tacho_batch *kept = sample_gpus(pool);
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, make_and_let_go, pool);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    batch_pool_free(pool);
    CU_ASSERT_STRING_EQUAL(kept->host, "node-1");
    batch_unref(kept);
}

const struct test tests[] = {
    {"steady_source_allocates_nothing", test_steady_source_allocates_nothing},
    {"steady_decoder_allocates_nothing", test_steady_decoder_allocates_nothing},
    {"batch_comes_back_clean", test_batch_comes_back_clean},
    {"names_of_the_pool_are_utf8", test_names_of_the_pool_are_utf8},
    {"threads_share_a_batch", test_threads_share_a_batch},
    {"threads_share_a_pool", test_threads_share_a_pool},
    {NULL, NULL},
};
