/* SPDX-License-Identifier: MIT */
/* Appending to a log allocates nothing once it has run for a while. The program is linked with
 * --wrap, so that every allocation of ours comes by here. */
#include <stdio.h>
#include <stdlib.h>

#include "core/store.h"
#include "tests/harness.h"
#include "tests/storedata.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static _Thread_local uint64_t allocations; /* of this thread: the keeper may do as it likes */

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

static uint64_t append(struct tacho_store *store, struct batch_pool *pool, uint64_t first,
                       uint64_t count)
{
    uint64_t before = allocations;
    for (uint64_t i = first; i < first + count; i++) {
        struct tacho_batch *batch = storedata_batch(pool, i, 8);
        CU_ASSERT_EQUAL_FATAL(store_append(store, batch, NULL), TACHO_OK);
        batch_unref(batch);
        if (i % 3 == 0) {
            CU_ASSERT_EQUAL_FATAL(store_flush(store, NULL), TACHO_OK);
        }
    }
    return allocations - before;
}

static void test_append_allocates_nothing(void)
{
    const struct store_writer writer = {
        .fleet = "lab", .host = "node", .stream = "log", .version = "test", .session = 1};
    char path[128];
    snprintf(path, sizeof path, "%s/log", harness_tmpdir());
    struct tacho_store_options options = {
        .struct_size = sizeof options, .path = path, .segment_bytes = 1 << 30};
    struct tacho_store *store = NULL;
    struct batch_pool *pool = batch_pool_new("lab", "node", "proc", 1, NULL);
    CU_ASSERT_EQUAL_FATAL(store_open(&options, &writer, &store, NULL), TACHO_OK);
    CU_ASSERT(append(store, pool, 1, 1000) > 0);
    CU_ASSERT_EQUAL(append(store, pool, 1001, 5000), 0);
    store_close(store);
    batch_pool_free(pool);
}

const struct test tests[] = {
    {"append_allocates_nothing", test_append_allocates_nothing},
    {NULL, NULL},
};
