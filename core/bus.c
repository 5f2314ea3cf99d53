/* SPDX-License-Identifier: MIT */
/*
 * The bus; see bus.h. Publishers share a read lock for the few pushes of one batch, subscribing
 * takes it for writing: so unsubscribing returns only when no push to that queue is under way.
 */
#include "core/bus.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct subscriber {
    struct queue *queue;
    char *const *filter;
    uint32_t filter_count;
};

struct bus {
    struct state *state;
    pthread_rwlock_t lock; /* protects subscribers */
    struct subscriber *subscribers;
    uint32_t count, size;
    atomic_uint_least64_t batches, values;
};

struct bus *bus_new(struct state *state)
{
    struct bus *bus = calloc(1, sizeof *bus);
    if (bus) {
        bus->state = state;
        pthread_rwlock_init(&bus->lock, NULL);
    }
    return bus;
}

void bus_free(struct bus *bus)
{
    if (bus) {
        pthread_rwlock_destroy(&bus->lock);
        free(bus->subscribers);
        free(bus);
    }
}

int bus_subscribe(struct bus *bus, struct queue *queue, char *const *filter, uint32_t filter_count)
{
    int result = TACHO_OK;
    pthread_rwlock_wrlock(&bus->lock);
    if (bus->count == bus->size) {
        uint32_t size = bus->size ? bus->size * 2 : 8;
        struct subscriber *moved = realloc(bus->subscribers, size * sizeof *moved);
        if (moved) {
            bus->subscribers = moved;
            bus->size = size;
        } else {
            result = TACHO_RETRY;
        }
    }
    if (result == TACHO_OK) {
        bus->subscribers[bus->count++] = (struct subscriber){queue, filter, filter_count};
    }
    pthread_rwlock_unlock(&bus->lock);
    return result;
}

void bus_unsubscribe(struct bus *bus, struct queue *queue)
{
    pthread_rwlock_wrlock(&bus->lock);
    for (uint32_t i = 0; i < bus->count; i++) {
        if (bus->subscribers[i].queue == queue) {
            bus->subscribers[i] = bus->subscribers[--bus->count];
            break;
        }
    }
    pthread_rwlock_unlock(&bus->lock);
}

void bus_swap(struct bus *bus, struct queue *from, struct queue *to, char *const *filter,
              uint32_t filter_count)
{
    pthread_rwlock_wrlock(&bus->lock);
    for (uint32_t i = 0; i < bus->count; i++) {
        if (bus->subscribers[i].queue == from) {
            bus->subscribers[i] = (struct subscriber){to, filter, filter_count};
            break;
        }
    }
    pthread_rwlock_unlock(&bus->lock);
}

/* The last glob that matches decides. What none matches is left out, unless there are only globs
 * that leave out. */
static bool takes(const struct subscriber *subscriber, const char *source)
{
    bool taken = true;
    for (uint32_t i = 0; i < subscriber->filter_count; i++) {
        if (subscriber->filter[i][0] != '!') {
            taken = false;
        }
    }
    for (uint32_t i = 0; i < subscriber->filter_count; i++) {
        const char *glob = subscriber->filter[i];
        bool out = glob[0] == '!';
        if (fnmatch(glob + out, source, 0) == 0) {
            taken = !out;
        }
    }
    return taken;
}

void bus_publish(struct bus *bus, const struct tacho_batch *batch)
{
    atomic_fetch_add_explicit(&bus->batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bus->values, batch->value_count, memory_order_relaxed);
    if (bus->state) {
        state_update(bus->state, batch);
    }
    pthread_rwlock_rdlock(&bus->lock);
    for (uint32_t i = 0; i < bus->count; i++) {
        if (takes(&bus->subscribers[i], batch->source)) {
            queue_push(bus->subscribers[i].queue, batch);
        }
    }
    pthread_rwlock_unlock(&bus->lock);
}

uint64_t bus_batches(const struct bus *bus)
{
    return atomic_load_explicit(&bus->batches, memory_order_relaxed);
}

uint64_t bus_values(const struct bus *bus)
{
    return atomic_load_explicit(&bus->values, memory_order_relaxed);
}
