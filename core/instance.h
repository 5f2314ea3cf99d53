/* SPDX-License-Identifier: MIT */
/*
 * What providers, sinks and services have in common: one plugin instance with a thread of its own,
 * which alone calls the plugin; a deadline for each call; state, problem and numbers for others to
 * see; and a letter box for commands. What the thread does is the business of provider and sink.
 *
 * An instance is shared: the engine, its thread and callers each hold a reference. So one whose
 * call never returns can be left behind, and is freed when the call does return.
 */
#ifndef TACHO_CORE_INSTANCE_H
#define TACHO_CORE_INSTANCE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/chain.h"
#include "core/conf.h"
#include "core/histogram.h"
#include "core/host.h"
#include "core/queue.h"

enum instance_state {
    INSTANCE_STARTING = 0,
    INSTANCE_OK = 1,
    INSTANCE_STANDBY = 2, /* a better one of its chain serves */
    INSTANCE_FAILING = 3, /* tried again after a pause */
    INSTANCE_STUCK = 4,   /* a call is past its deadline */
    INSTANCE_WAITING = 5, /* for a new configuration, or for what this machine does not have */
    INSTANCE_STOPPED = 6,
};

struct instance_stats {
    uint64_t calls, errors, skipped, stuck, restarts;
    uint64_t dropped_failed, dropped_memory;
    struct histogram duration, lateness;
};

struct request; /* see service.h */

/* The call of the plugin that is under way. */
struct instance_call {
    const char *what; /* "collect"; NULL: none */
    int64_t begin_ns, deadline_ns;
    bool stuck;
};

struct instance {
    atomic_uint refs;
    struct conf_instance *conf; /* borrowed; of the configuration in force */
    const struct tacho_plugin *plugin;
    const void *options;
    struct host host;
    struct host *reports; /* the source that tells of its fate, or NULL */
    struct queue *queue;  /* NULL for providers */
    struct chain *chain;  /* NULL: stands alone */

    pthread_t thread;
    bool started;
    void *self; /* what the plugin made; its thread only, others by cancel_lock; NULL: not open */

    pthread_mutex_t cancel_lock; /* held while cancel runs, so that it never meets another call;
                                    taken before lock */
    pthread_mutex_t lock;        /* protects all below */
    pthread_cond_t changed;
    bool woken, stopping, done;
    int64_t stop_ns; /* when stopping began */
    int state;       /* enum instance_state, leaving aside a stuck call */
    char problem[TACHO_ERR_TEXT];
    struct instance_call call;
    struct instance_stats stats;
    struct request *requests; /* oldest first */
};

/* ---- life ------------------------------------------------------------------------------------ */

/* `conf` and `services` are borrowed. Nothing runs yet. */
int instance_new(struct conf_instance *conf, const struct host_services *services,
                 struct host *reports, struct instance **out, struct tacho_err *err);
struct instance *instance_ref(struct instance *instance);
void instance_unref(struct instance *instance);

int instance_start(struct instance *instance, void *(*run)(void *instance), struct tacho_err *err);

/* Asks the thread to end; returns at once. */
void instance_stop(struct instance *instance);

/* Waits for its thread to be done, until mono_ns; false when it is not. */
bool instance_wait_done(struct instance *instance, int64_t until_mono_ns);

/* Waits in the same way, and takes leave of the thread. False when it is still in a call: then it
 * is left behind, muted, and what it borrows has to stay. */
bool instance_join(struct instance *instance, int64_t until_mono_ns);

/* ---- for its thread -------------------------------------------------------------------------- */

bool instance_stopping(struct instance *instance);

/* Waits until mono_ns, or until somebody wakes it. */
void instance_wait(struct instance *instance, int64_t until_mono_ns);

/* Opens and closes the plugin; both are calls with a deadline. Open does nothing when it is open.
 */
int instance_open(struct instance *instance, struct tacho_err *err);
void instance_close(struct instance *instance);

/* Around each call of the plugin. `late_ns` is how long after its planned time it begins, or -1. */
void instance_begin(struct instance *instance, const char *what, int64_t late_ns);
void instance_end(struct instance *instance, int result);

/* A new state; a problem that was not there before is logged once, and so is its end. */
void instance_set_state(struct instance *instance, int state, const char *problem);

/* The last thing that a thread does. */
void instance_done(struct instance *instance);

/* ---- for others ------------------------------------------------------------------------------ */

void instance_wake(struct instance *instance);

/* Reports a call past its deadline (once). Returns the time at which to look again. */
int64_t instance_supervise(struct instance *instance, int64_t now_ns);

/* Asks the call under way to return soon, unless that was asked before. */
void instance_cancel(struct instance *instance);

/* What is seen from outside. */
struct instance_view {
    int state;
    char problem[TACHO_ERR_TEXT];
    struct instance_stats stats;
    struct queue_stats queue;
    int child_pid;
    uint64_t child_exits;
};

/* `drain`: the histograms begin anew. */
void instance_look(struct instance *instance, bool drain, struct instance_view *out);

const char *instance_state_name(int state);
const char *instance_role_name(int role);

/* Publishes an event about an instance, by the source `reports` (NULL: does nothing). */
void instance_event(struct host *reports, const char *name, const char *type, int severity,
                    const char *message);

#endif
