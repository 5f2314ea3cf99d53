/* SPDX-License-Identifier: MIT */
/*
 * Bounded queue of batches; see queue.h. A ring under one mutex: a push is a reference and a store,
 * so producers never hold each other up for longer than that, except where the rule is to wait.
 */
#include "core/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"

enum { DROP_OLDEST = 0, DROP_NEWEST = 1, BLOCK = 2 }; /* enum conf_overflow, which is above us */

/* The longest that a producer is held up under the rule `block`. */
#define BLOCK_NS (100 * NS_PER_MS)

struct queue {
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t filled;
    pthread_cond_t drained;
    int overflow;
    bool closed;
    bool woken;
    uint32_t first; /* index of the oldest */
    uint32_t depth, capacity;
    uint64_t pushed, popped, dropped;
    const struct tacho_batch *items[];
};

struct queue *queue_new(uint32_t capacity, int overflow)
{
    capacity = capacity ? capacity : 1;
    struct queue *queue = calloc(1, sizeof *queue + capacity * sizeof queue->items[0]);
    if (!queue) {
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, &monotonic);
    pthread_cond_init(&queue->drained, &monotonic);
    pthread_condattr_destroy(&monotonic);
    queue->capacity = capacity;
    queue->overflow = overflow;
    return queue;
}

void queue_free(struct queue *queue)
{
    if (!queue) {
        return;
    }
    for (; queue->depth > 0; queue->depth--) {
        batch_unref(queue->items[queue->first]);
        queue->first = (queue->first + 1) % queue->capacity;
    }
    pthread_cond_destroy(&queue->filled);
    pthread_cond_destroy(&queue->drained);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

/* Waits on a condition; false when mono_ns has passed. Called with the lock held. */
static bool wait_until(struct queue *queue, pthread_cond_t *condition, int64_t mono_ns)
{
    struct timespec until = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};
    return pthread_cond_timedwait(condition, &queue->lock, &until) == 0;
}

static void wait_for_room(struct queue *queue)
{
    int64_t until_ns = clock_mono_ns() + BLOCK_NS;
    while (queue->depth == queue->capacity && !queue->closed) {
        if (!wait_until(queue, &queue->drained, until_ns)) {
            return;
        }
    }
}

static const struct tacho_batch *take_oldest(struct queue *queue)
{
    const struct tacho_batch *batch = queue->items[queue->first];
    queue->first = (queue->first + 1) % queue->capacity;
    queue->depth--;
    return batch;
}

bool queue_push(struct queue *queue, const struct tacho_batch *batch)
{
    const struct tacho_batch *oldest = NULL;
    bool kept = true;
    pthread_mutex_lock(&queue->lock);
    if (queue->depth == queue->capacity && queue->overflow == BLOCK) {
        wait_for_room(queue);
    }
    if (!queue->closed) {
        queue->pushed++;
        if (queue->depth == queue->capacity) {
            kept = false;
            queue->dropped++;
            oldest = queue->overflow == DROP_OLDEST ? take_oldest(queue) : NULL;
        }
        if (queue->depth < queue->capacity) {
            queue->items[(queue->first + queue->depth) % queue->capacity] = batch_ref(batch);
            queue->depth++;
            pthread_cond_signal(&queue->filled);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    batch_unref(oldest);
    return kept;
}

const struct tacho_batch *queue_pop(struct queue *queue, int64_t until_mono_ns)
{
    const struct tacho_batch *batch = NULL;
    pthread_mutex_lock(&queue->lock);
    while (queue->depth == 0 && !queue->closed && !queue->woken && until_mono_ns > 0) {
        if (!wait_until(queue, &queue->filled, until_mono_ns)) {
            break;
        }
    }
    queue->woken = false;
    if (queue->depth > 0) {
        batch = take_oldest(queue);
        queue->popped++;
        if (queue->overflow == BLOCK) {
            pthread_cond_signal(&queue->drained);
        }
    }
    pthread_mutex_unlock(&queue->lock);
    return batch;
}

void queue_wake(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->woken = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

void queue_close(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_cond_broadcast(&queue->drained);
    pthread_mutex_unlock(&queue->lock);
}

bool queue_closed(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool closed = queue->closed;
    pthread_mutex_unlock(&queue->lock);
    return closed;
}

void queue_stats(struct queue *queue, struct queue_stats *out)
{
    pthread_mutex_lock(&queue->lock);
    *out = (struct queue_stats){.depth = queue->depth,
                                .capacity = queue->capacity,
                                .pushed = queue->pushed,
                                .popped = queue->popped,
                                .dropped = queue->dropped};
    pthread_mutex_unlock(&queue->lock);
}
