/* SPDX-License-Identifier: MIT */
/*
 * A host for the unit tests of plugins: real batches and metrics, nothing else of the daemon. A
 * test links the plugin's own sources and calls `tacho_plugin_v1` by way of these:
 *
 *     struct fakehost host;
 *     fakehost_init(&host, &tacho_plugin_v1);
 *     void *self = fakehost_open(&host, &options, &err);
 *     const struct tacho_batch *batch = fakehost_collect(&host, self, &result, &err);
 *     … fakehost_find(batch, "gpu", 0, "gpu.power") …
 *     batch_unref(batch);
 *     fakehost_close(&host, self);
 *     fakehost_fini(&host);
 *
 * Has the members for filling and reading batches, metric, emit, log, setting and the clocks; the
 * others are NULL.
 */
#ifndef TACHO_TESTS_FAKEHOST_H
#define TACHO_TESTS_FAKEHOST_H

#include <pthread.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/plugin.h"

#define FAKEHOST_METRICS 1024
#define FAKEHOST_EMITTED 1024

struct fakehost {
    struct tacho_host table; /* what the plugin sees */
    const struct tacho_plugin *plugin;
    const char *interval; /* TACHO_SETTING_INTERVAL, "" until set by the test */
    uint32_t ids[FAKEHOST_METRICS];
    struct metric_map map;
    struct batch_pool *pool;
    uint64_t seq;

    pthread_mutex_t lock; /* protects what follows: plugins emit and log from their threads too */
    const struct tacho_batch *emitted[FAKEHOST_EMITTED]; /* sealed, in order; freed by fini */
    uint32_t emitted_count;
    uint32_t log_count;
    char log[4096]; /* the log's lines, as many as fit */
};

/* Aborts when the plugin's metric table is wrong: nothing can be tested then. */
void fakehost_init(struct fakehost *host, const struct tacho_plugin *plugin);
void fakehost_fini(struct fakehost *host);

/* NULL on failure, with the reason in err. */
void *fakehost_open(struct fakehost *host, const void *options, struct tacho_err *err);
void fakehost_close(struct fakehost *host, void *self);

/* One call of collect with a deadline of ten seconds; the batch comes back sealed, whatever the
 * result. */
const struct tacho_batch *fakehost_collect(struct fakehost *host, void *self, int *out_result,
                                           struct tacho_err *err);

/* The value of a metric on the nth entity of a kind, or NULL. */
const struct tacho_value *fakehost_find(const struct tacho_batch *batch, const char *kind,
                                        uint32_t nth, const char *metric);

/* The same as a number, whatever its type; NaN when it is absent or not there. */
double fakehost_number(const struct tacho_batch *batch, const char *kind, uint32_t nth,
                       const char *metric);

/* The text of a label on the nth entity of a kind, or NULL. */
const char *fakehost_label(const struct tacho_batch *batch, const char *kind, uint32_t nth,
                           const char *label);

/* How many entities of a kind a batch has. */
uint32_t fakehost_count(const struct tacho_batch *batch, const char *kind);

/* How many batches were emitted so far; the nth of them, or NULL. Safe while threads emit. */
uint32_t fakehost_emitted(struct fakehost *host);
const struct tacho_batch *fakehost_emitted_at(struct fakehost *host, uint32_t nth);

#endif
