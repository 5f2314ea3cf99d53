/* SPDX-License-Identifier: MIT */
/*
 * The bus hands each sealed batch to the state and to every queue whose filter takes its source. No
 * thread of its own, no copying, and no knowledge of who fills or drains. Any thread may publish;
 * subscribing and publishing at once is safe.
 */
#ifndef TACHO_CORE_BUS_H
#define TACHO_CORE_BUS_H

#include <stdint.h>

#include "core/batch.h"
#include "core/queue.h"
#include "core/state.h"

struct bus;

struct bus *bus_new(struct state *state); /* borrowed */
void bus_free(struct bus *bus);

/* Queue and filter (globs of source names, "!x" leaves out, none: all) are borrowed until
 * bus_unsubscribe returns; after that no push to the queue is under way. */
int bus_subscribe(struct bus *bus, struct queue *queue, char *const *filter, uint32_t filter_count);
void bus_unsubscribe(struct bus *bus, struct queue *queue);

/* One queue takes another's place, with a filter of its own: no batch goes to both or to neither.
 */
void bus_swap(struct bus *bus, struct queue *from, struct queue *to, char *const *filter,
              uint32_t filter_count);

/* A sealed batch; the caller keeps its reference. */
void bus_publish(struct bus *bus, const struct tacho_batch *batch);

uint64_t bus_batches(const struct bus *bus); /* published so far */
uint64_t bus_values(const struct bus *bus);

#endif
