/* SPDX-License-Identifier: MIT */
/*
 * Pools of batches and the reference count; see batch.h. A batch that comes back keeps its memory,
 * up to IDLE_LIMIT of them.
 */
#include "core/batch.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/utf8.h"

enum { IDLE_LIMIT = 8 }; /* batches a pool keeps for later */

struct batch_pool {
    pthread_mutex_t lock; /* protects all below, except the constant texts */
    struct tacho_batch *idle;
    uint32_t idle_count;
    uint32_t alive; /* batches made and not freed */
    bool abandoned; /* the owner has let go */
    const struct metric_map *map;
    uint64_t session;
    char *fleet, *host, *source;
};

static void pool_destroy(struct batch_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
    free(pool->fleet);
    free(pool->host);
    free(pool->source);
    free(pool);
}

/* A copy of text as UTF-8, which it is on the wire. */
static char *copy_clean(const char *text)
{
    size_t length = strlen(text);
    size_t size = length * strlen(UTF8_REPLACEMENT) + 1;
    size = size <= BATCH_TEXT_LIMIT ? size : BATCH_TEXT_LIMIT + 1;
    char *copy = malloc(size);
    if (copy) {
        utf8_clean(text, length, copy, size);
    }
    return copy;
}

struct batch_pool *batch_pool_new(const char *fleet, const char *host, const char *source,
                                  uint64_t session, const struct metric_map *map)
{
    struct batch_pool *pool = calloc(1, sizeof *pool);
    if (!pool) {
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->map = map;
    pool->session = session;
    pool->fleet = copy_clean(fleet);
    pool->host = copy_clean(host);
    pool->source = copy_clean(source);
    if (!pool->fleet || !pool->host || !pool->source) {
        pool_destroy(pool);
        return NULL;
    }
    return pool;
}

static void batch_free(struct tacho_batch *batch)
{
    free(batch->entities);
    free(batch->labels);
    free(batch->values);
    arena_fini(&batch->names);
    arena_fini(&batch->texts);
    for (int i = 0; i < BATCH_FORMATS; i++) {
        buf_fini(&batch->encoded[i]);
    }
    pthread_mutex_destroy(&batch->encode_lock);
    free(batch);
}

void batch_pool_free(struct batch_pool *pool)
{
    if (!pool) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    while (pool->idle) {
        struct tacho_batch *batch = pool->idle;
        pool->idle = batch->next;
        pool->alive--;
        batch_free(batch);
    }
    pool->abandoned = true;
    bool last = pool->alive == 0;
    pthread_mutex_unlock(&pool->lock);
    if (last) {
        pool_destroy(pool);
    }
}

static struct tacho_batch *batch_make(struct batch_pool *pool)
{
    struct tacho_batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        return NULL;
    }
    batch->pool = pool;
    arena_init(&batch->names, BATCH_ARENA_LIMIT);
    arena_init(&batch->texts, BATCH_ARENA_LIMIT);
    for (int i = 0; i < BATCH_FORMATS; i++) {
        buf_init(&batch->encoded[i], 64u << 20);
    }
    pthread_mutex_init(&batch->encode_lock, NULL);
    return batch;
}

static void batch_reset(struct tacho_batch *batch, const struct batch_pool *pool)
{
    arena_reset(&batch->names);
    arena_reset(&batch->texts);
    for (int i = 0; i < BATCH_FORMATS; i++) {
        buf_reset(&batch->encoded[i]);
    }
    batch->next = NULL;
    batch->sealed = batch->truncated = batch->numbered = false;
    batch->fleet = pool->fleet;
    batch->host = pool->host;
    batch->source = pool->source;
    batch->session = pool->session;
    batch->seq = batch->schema = 0;
    batch->flags = 0;
    batch->map = pool->map;
    batch->entity_count = batch->label_count = batch->value_count = batch->shape_count = 0;
    batch->stable_count = 0;
    batch->mixed = false;
    batch->wall_ns = clock_wall_ns();
    batch->mono_ns = clock_mono_ns();
    batch->duration_ns = -1;
    atomic_store_explicit(&batch->refs, 1, memory_order_relaxed);
}

struct tacho_batch *batch_new(struct batch_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct tacho_batch *batch = pool->idle;
    if (batch) {
        pool->idle = batch->next;
        pool->idle_count--;
    } else {
        pool->alive++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!batch && !(batch = batch_make(pool))) {
        pthread_mutex_lock(&pool->lock);
        pool->alive--;
        pthread_mutex_unlock(&pool->lock);
        return NULL;
    }
    batch_reset(batch, pool);
    return batch;
}

static void give_back(struct tacho_batch *batch)
{
    struct batch_pool *pool = batch->pool;
    bool last = false;
    pthread_mutex_lock(&pool->lock);
    if (pool->abandoned || pool->idle_count == IDLE_LIMIT) {
        pool->alive--;
        last = pool->abandoned && pool->alive == 0;
        batch_free(batch);
    } else {
        batch->next = pool->idle;
        pool->idle = batch;
        pool->idle_count++;
    }
    pthread_mutex_unlock(&pool->lock);
    if (last) {
        pool_destroy(pool);
    }
}

const struct tacho_batch *batch_ref(const struct tacho_batch *batch)
{
    struct tacho_batch *mutable = (struct tacho_batch *)batch;
    atomic_fetch_add_explicit(&mutable->refs, 1, memory_order_relaxed);
    return batch;
}

void batch_unref(const struct tacho_batch *batch)
{
    struct tacho_batch *mutable = (struct tacho_batch *)batch;
    if (batch && atomic_fetch_sub_explicit(&mutable->refs, 1, memory_order_acq_rel) == 1) {
        give_back(mutable);
    }
}

#define SWAP(one, other)            \
    do {                            \
        __typeof__(one) keep = one; \
        one = other;                \
        other = keep;               \
    } while (0)

void batch_move(struct tacho_batch *to, struct tacho_batch *from)
{
    SWAP(to->entities, from->entities);
    SWAP(to->entity_count, from->entity_count);
    SWAP(to->entity_size, from->entity_size);
    SWAP(to->labels, from->labels);
    SWAP(to->label_count, from->label_count);
    SWAP(to->label_size, from->label_size);
    SWAP(to->values, from->values);
    SWAP(to->value_count, from->value_count);
    SWAP(to->value_size, from->value_size);
    SWAP(to->names, from->names);
    SWAP(to->texts, from->texts);
    to->flags |= from->flags;
    to->truncated = from->truncated;
    to->mixed = from->mixed;
    memcpy(to->has_metric, from->has_metric, sizeof to->has_metric);
    to->wall_ns = from->wall_ns;
    to->duration_ns = from->duration_ns;
    if (from->numbered) {
        /* These texts lie in what was moved. */
        to->fleet = from->fleet;
        to->host = from->host;
        to->source = from->source;
        to->session = from->session;
        to->seq = from->seq;
        to->numbered = true;
    }
}

void batch_discard(struct tacho_batch *batch)
{
    batch_unref(batch);
}
