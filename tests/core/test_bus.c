/* SPDX-License-Identifier: MIT */
/* The bus: filters, swapping of subscribers, and subscribing while others publish. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/bus.h"
#include "tests/harness.h"

static void publish(struct bus *bus, const char *source, uint64_t seq)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", source, 1, NULL);
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "host", "node", -1, 0);
    batch_seal(batch, seq);
    bus_publish(bus, batch);
    batch_unref(batch);
    batch_pool_free(pool);
}

static uint32_t depth(struct queue *queue)
{
    struct queue_stats stats;
    queue_stats(queue, &stats);
    return stats.depth;
}

static uint32_t taken(char *const *filter, uint32_t count)
{
    struct bus *bus = bus_new(NULL);
    struct queue *queue = queue_new(16, 0);
    CU_ASSERT_EQUAL(bus_subscribe(bus, queue, filter, count), TACHO_OK);
    publish(bus, "nvml", 0);
    publish(bus, "proc", 0);
    publish(bus, "proc_two", 0);
    publish(bus, "self", 0);
    uint32_t found = depth(queue);
    bus_unsubscribe(bus, queue);
    publish(bus, "nvml", 1);
    CU_ASSERT_EQUAL(depth(queue), found);
    queue_free(queue);
    bus_free(bus);
    return found;
}

static void test_filters(void)
{
    CU_ASSERT_EQUAL(taken(NULL, 0), 4);
    CU_ASSERT_EQUAL(taken((char *[]){"proc"}, 1), 1);
    CU_ASSERT_EQUAL(taken((char *[]){"proc*"}, 1), 2);
    CU_ASSERT_EQUAL(taken((char *[]){"!self"}, 1), 3);
    CU_ASSERT_EQUAL(taken((char *[]){"!self", "!nvml"}, 2), 2);
    CU_ASSERT_EQUAL(taken((char *[]){"proc*", "!proc_*"}, 2), 1);
    CU_ASSERT_EQUAL(taken((char *[]){"nothing"}, 1), 0);
}

static void test_counts(void)
{
    struct bus *bus = bus_new(NULL);
    publish(bus, "proc", 0);
    publish(bus, "proc", 1);
    CU_ASSERT_EQUAL(bus_batches(bus), 2);
    CU_ASSERT_EQUAL(bus_values(bus), 0);
    bus_free(bus);
}

struct publisher {
    struct bus *bus;
    atomic_bool ends;
    uint64_t published;
};

static void *publish_on(void *argument)
{
    struct publisher *publisher = argument;
    while (!atomic_load(&publisher->ends)) {
        publish(publisher->bus, "proc", publisher->published++);
    }
    return NULL;
}

/* Each batch goes to exactly one of the queues that take turns. */
static void test_swap_loses_and_doubles_nothing(void)
{
    struct publisher publisher = {.bus = bus_new(NULL)};
    struct queue *queues[64];
    for (int i = 0; i < 64; i++) {
        queues[i] = queue_new(100000, 0);
    }
    bus_subscribe(publisher.bus, queues[0], NULL, 0);
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, publish_on, &publisher), 0);
    for (int i = 1; i < 64; i++) {
        while (depth(queues[i - 1]) == 0) {
        }
        bus_swap(publisher.bus, queues[i - 1], queues[i], NULL, 0);
    }
    atomic_store(&publisher.ends, true);
    pthread_join(thread, NULL);
    uint64_t next = 0;
    for (int i = 0; i < 64; i++) {
        const struct tacho_batch *batch;
        while ((batch = queue_pop(queues[i], 0))) {
            CU_ASSERT_EQUAL(batch->seq, next);
            next = batch->seq + 1;
            batch_unref(batch);
        }
        queue_free(queues[i]);
    }
    CU_ASSERT_EQUAL(next, publisher.published);
    bus_free(publisher.bus);
}

const struct test tests[] = {
    {"filters", test_filters},
    {"counts", test_counts},
    {"swap_loses_and_doubles_nothing", test_swap_loses_and_doubles_nothing},
    {NULL, NULL},
};
