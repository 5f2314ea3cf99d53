/* SPDX-License-Identifier: MIT */
/* Queues: order, overflow rules, waiting and closing, with threads on both sides. */
#include <pthread.h>

#include "core/clock.h"
#include "core/queue.h"
#include "tests/harness.h"

enum { OLDEST = 0, NEWEST = 1, BLOCK = 2, PRODUCERS = 4, EACH = 2000 };

static struct tacho_batch *make(struct batch_pool *pool, uint64_t seq)
{
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "host", "node", -1, 0);
    batch_seal(batch, seq);
    return batch;
}

static bool push(struct queue *queue, struct batch_pool *pool, uint64_t seq)
{
    struct tacho_batch *batch = make(pool, seq);
    bool kept = queue_push(queue, batch);
    batch_unref(batch);
    return kept;
}

/* The number of the next batch, or -1. */
static int64_t pop(struct queue *queue)
{
    const struct tacho_batch *batch = queue_pop(queue, 0);
    int64_t seq = batch ? (int64_t)batch->seq : -1;
    batch_unref(batch);
    return seq;
}

static void overflow(int rule, int64_t first, int64_t second)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "x", 1, NULL);
    struct queue *queue = queue_new(2, rule);
    struct queue_stats stats;
    CU_ASSERT_TRUE(push(queue, pool, 1));
    CU_ASSERT_TRUE(push(queue, pool, 2));
    CU_ASSERT_FALSE(push(queue, pool, 3));
    queue_stats(queue, &stats);
    CU_ASSERT_EQUAL(stats.dropped, 1);
    CU_ASSERT_EQUAL(stats.depth, 2);
    CU_ASSERT_EQUAL(pop(queue), first);
    CU_ASSERT_EQUAL(pop(queue), second);
    CU_ASSERT_EQUAL(pop(queue), -1);
    push(queue, pool, 4); /* is freed with the queue */
    queue_free(queue);
    batch_pool_free(pool);
}

static void test_overflow_rules(void)
{
    overflow(OLDEST, 2, 3);
    overflow(NEWEST, 1, 2);
    overflow(BLOCK, 1, 2);
}

static void *drain_slowly(void *argument)
{
    struct queue *queue = argument;
    int64_t count = 0;
    const struct tacho_batch *batch;
    while ((batch = queue_pop(queue, clock_mono_ns() + 10 * NS_PER_S))) {
        batch_unref(batch);
        count++;
    }
    return (void *)(intptr_t)count;
}

static void test_block_waits_for_the_consumer(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "x", 1, NULL);
    struct queue *queue = queue_new(1, BLOCK);
    pthread_t consumer;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&consumer, NULL, drain_slowly, queue), 0);
    int kept = 0;
    for (uint64_t i = 0; i < 200; i++) {
        kept += push(queue, pool, i);
    }
    queue_close(queue);
    void *popped;
    pthread_join(consumer, &popped);
    CU_ASSERT_EQUAL((intptr_t)popped, kept);
    CU_ASSERT_TRUE(kept > 1);
    queue_free(queue);
    batch_pool_free(pool);
}

static void test_close_lets_the_rest_out(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "x", 1, NULL);
    struct queue *queue = queue_new(4, OLDEST);
    push(queue, pool, 1);
    queue_close(queue);
    push(queue, pool, 2);
    CU_ASSERT_TRUE(queue_closed(queue));
    CU_ASSERT_EQUAL(pop(queue), 1);
    CU_ASSERT_PTR_NULL(queue_pop(queue, INT64_MAX));
    queue_free(queue);
    batch_pool_free(pool);
}

static void test_wake_is_not_lost(void)
{
    struct queue *queue = queue_new(4, OLDEST);
    queue_wake(queue);
    CU_ASSERT_PTR_NULL(queue_pop(queue, INT64_MAX)); /* would wait for ever */
    queue_free(queue);
}

struct producer {
    struct queue *queue;
    pthread_t thread;
    struct batch_pool *pool;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    for (uint64_t i = 0; i < EACH; i++) {
        push(producer->queue, producer->pool, i);
    }
    return NULL;
}

static void test_many_producers_lose_only_what_is_counted(void)
{
    struct queue *queue = queue_new(16, OLDEST);
    struct producer producers[PRODUCERS];
    pthread_t consumer;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&consumer, NULL, drain_slowly, queue), 0);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] =
            (struct producer){.queue = queue, .pool = batch_pool_new("lab", "node", "x", 1, NULL)};
        pthread_create(&producers[i].thread, NULL, produce, &producers[i]);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(producers[i].thread, NULL);
        batch_pool_free(producers[i].pool);
    }
    queue_close(queue);
    void *popped;
    pthread_join(consumer, &popped);
    struct queue_stats stats;
    queue_stats(queue, &stats);
    CU_ASSERT_EQUAL(stats.pushed, PRODUCERS * EACH);
    CU_ASSERT_EQUAL(stats.popped, (uint64_t)(intptr_t)popped);
    CU_ASSERT_EQUAL(stats.popped + stats.dropped, stats.pushed);
    queue_free(queue);
}

const struct test tests[] = {
    {"overflow_rules", test_overflow_rules},
    {"block_waits_for_the_consumer", test_block_waits_for_the_consumer},
    {"close_lets_the_rest_out", test_close_lets_the_rest_out},
    {"wake_is_not_lost", test_wake_is_not_lost},
    {"many_producers_lose_only_what_is_counted", test_many_producers_lose_only_what_is_counted},
    {NULL, NULL},
};
