/* SPDX-License-Identifier: MIT */
/*
 * The host table that an instance gets: struct tacho_host filled with the core's functions, and
 * what they need to know of the instance. One for each instance, for its whole life.
 */
#ifndef TACHO_CORE_HOST_H
#define TACHO_CORE_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/bus.h"
#include "core/log.h"
#include "core/module.h"
#include "core/state.h"

enum { HOST_MAPS = 16 }; /* doublings from 16 metrics on: more than METRIC_LIMIT needs */

/* What the engine (or the isolated child, or a command without a daemon) lends to all its hosts. */
struct host_services {
    const char *fleet, *host, *state_dir;
    uint64_t session;
    struct bus *bus;     /* NULL: emit hands the batch to on_emit */
    struct state *state; /* NULL: snapshots are empty */
    void (*on_emit)(void *context, struct tacho_batch *batch); /* sealed; takes the reference */
    int (*on_call)(void *context, const char *instance, const char *command,
                   const char *arguments_json, struct tacho_reply *reply, struct tacho_err *err);
    void *context;
};

struct host {
    struct tacho_host table; /* what the plugin sees; table.instance points back here */
    const struct host_services *services;
    char *name;
    struct log log;
    char interval[24];    /* TACHO_SETTING_INTERVAL: digits, filled by who calls `collect` */
    uint32_t batch_flags; /* set on every batch: TACHO_SIMULATED for synthetic plugins */
    struct batch_pool *pool;
    pthread_mutex_t map_lock; /* protects additions to map */
    struct metric_map map;
    uint32_t map_size;
    uint32_t *outgrown[HOST_MAPS]; /* former arrays of map, which a reader may still look at */
    uint32_t outgrown_count;
    pthread_mutex_t
        publish_lock; /* protects what follows; batches leave in order of their numbers */
    bool retired;
    uint64_t seq; /* next number of this source */
};

/* Registers the module's metrics and fills the table. `services` is borrowed; module may be NULL
 * for a source of the core's own, which then uses global metric ids. */
int host_init(struct host *host, const struct host_services *services, const char *name,
              const struct module *module, struct tacho_err *err);
void host_fini(struct host *host);

/* From its return on nothing is published any more: what comes late is dropped. Returns the number
 * that the next batch of this source would have had. */
uint64_t host_retire(struct host *host);

/* Seals an open batch with the next number and publishes it (taken); also behind `emit`. */
void host_publish(struct host *host, struct tacho_batch *batch);

/* Where a command's answer goes. */
struct tacho_reply {
    struct buf *out;
};

#endif
