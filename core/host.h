/* SPDX-License-Identifier: MIT */
/*
 * The host table that an instance gets: struct tacho_host filled with the core's functions, and
 * what they need to know of the instance. One for each instance, for its whole life.
 */
#ifndef TACHO_CORE_HOST_H
#define TACHO_CORE_HOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/bus.h"
#include "core/log.h"
#include "core/module.h"
#include "core/state.h"

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
    pthread_mutex_t lock; /* protects additions to map */
    struct metric_map map;
    struct batch_pool *pool;
    atomic_uint_least64_t seq; /* next number of this source */
};

/* Registers the module's metrics and fills the table. `services` is borrowed. */
int host_init(struct host *host, const struct host_services *services, const char *name,
              const struct module *module, struct tacho_err *err);
void host_fini(struct host *host);

/* Seals an open batch with the next number and publishes it (taken); also behind `emit`. */
void host_publish(struct host *host, struct tacho_batch *batch);

/* Where a command's answer goes. */
struct tacho_reply {
    struct buf *out;
};

#endif
