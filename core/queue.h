/* SPDX-License-Identifier: MIT */
/*
 * Bounded queue of sealed batches with an overflow rule: many producers, one consumer. What it
 * drops it counts. No allocation after init.
 */
#ifndef TACHO_CORE_QUEUE_H
#define TACHO_CORE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"

struct queue;

struct queue_stats {
    uint32_t depth, capacity;
    uint64_t pushed, popped, dropped;
};

/* overflow is enum conf_overflow's value: 0 drop oldest, 1 drop newest, 2 block briefly. */
struct queue *queue_new(uint32_t capacity, int overflow);
void queue_free(struct queue *queue); /* lets go of what is in it */

/* Takes a reference of its own. False when a batch (this or an older one) was dropped for it. */
bool queue_push(struct queue *queue, const struct tacho_batch *batch);

/* The oldest batch (the caller's reference now), waiting for one until mono_ns (0: not at all).
 * NULL when none came, when somebody woke us, or when the queue is closed and empty. */
const struct tacho_batch *queue_pop(struct queue *queue, int64_t until_mono_ns);

/* Makes the consumer's present or next wait return, since something else needs it. */
void queue_wake(struct queue *queue);

/* Ends all waiting; what is in the queue can still be popped, pushes are ignored. */
void queue_close(struct queue *queue);
bool queue_closed(struct queue *queue);

void queue_stats(struct queue *queue, struct queue_stats *out);

#endif
