/* SPDX-License-Identifier: MIT */
/*
 * What the files of the engine share: engine.c (building, starting, stopping), engine_apply.c
 * (reload), engine_watch.c (deadlines and self-metrics), engine_commands.c (the instance "tacho").
 */
#ifndef TACHO_CORE_ENGINE_INTERNAL_H
#define TACHO_CORE_ENGINE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/bus.h"
#include "core/chain.h"
#include "core/control.h"
#include "core/engine.h"
#include "core/host.h"
#include "core/instance.h"
#include "core/log.h"
#include "core/self.h"
#include "core/state.h"

/* Who we are: lent to all hosts, replaced as a whole when fleet, host or state folder change. */
struct identity {
    struct host_services services;
    char *fleet, *host, *state_dir;
    struct host self; /* the source "self" */
};

struct instance_list {
    struct instance **items;
    uint32_t count;
};

/* The number that a source goes on with when it starts again within this session. */
struct sequence {
    char *name;
    uint64_t next;
};

struct engine {
    struct conf *conf;    /* in force */
    struct conf **former; /* others that a running instance still borrows from */
    uint32_t former_count;
    const struct conf_instance **left_behind; /* what calls that never returned borrow */
    uint32_t left_behind_count;
    struct identity *identity;
    struct log log;
    struct state *state;
    struct bus *bus;
    struct control *control;
    char control_path[256];
    uint64_t session;
    int64_t started_ns;

    struct chain **chains;
    uint32_t chain_count;
    struct sequence *sequences;
    uint32_t sequence_count;

    pthread_mutex_t lock; /* protects list, facts and conf->hash_text against other threads */
    struct instance_list list;
    struct self_facts facts;
    int64_t self_interval_ns; /* 0: not published */

    pthread_t watcher;
    bool watching;
    pthread_mutex_t watch_lock; /* protects watch_ends and watch_changed */
    pthread_cond_t watch_wake;
    bool watch_ends;
    bool watch_changed;            /* instances came or went: look at once */
    atomic_int_least64_t owner_ns; /* when the owner's thread was last seen alive */

    int request_fd;
    pthread_mutex_t request_lock; /* protects what follows */
    pthread_cond_t request_done;
    uint64_t reloads_asked, reloads_done;
    bool stop_asked;
    struct buf outcome; /* of the last reload */
};

/* ---- engine.c ---------------------------------------------------------------------------------
 */

struct identity *identity_new(const struct conf *conf, struct engine *engine,
                              struct tacho_err *err);
void identity_free(struct identity *identity);

/* Makes the instance of a configuration, not yet started. */
int engine_make(struct engine *engine, struct identity *identity, struct conf_instance *conf,
                struct instance **out, struct tacho_err *err);

/* Brings all members of all chains in the order of the list. */
void engine_order_chains(struct engine *engine, const struct instance_list *list);

int engine_subscribe(struct engine *engine, struct instance *instance, struct tacho_err *err);

/* Starts the thread of one, which goes on with the numbers of the last one of its name. */
int engine_run(struct engine *engine, struct instance *instance, struct tacho_err *err);

/* Stops those of one role and lets go of them: their place in the list is NULL then. Those that do
 * not return by hard_ns are left behind. */
void engine_end(struct engine *engine, const struct instance_list *list, int role, int64_t soft_ns,
                int64_t hard_ns);

/* Makes the control socket that the configuration names, if any. */
int engine_listen(struct engine *engine, struct tacho_err *err);

/* ---- engine_apply.c, engine_watch.c, engine_commands.c -----------------------------------------
 */

/* Loads the file again and applies it, or says what is wrong with it. */
void engine_reload(struct engine *engine, struct buf *outcome);

/* Follows a change of the control socket's path; after those who asked by the old one have their
 * answer. */
void engine_move_control(struct engine *engine);

/* Answers those who wait for a reload, and all who come later. */
void engine_refuse_requests(struct engine *engine);

void engine_watch_init(struct engine *engine);
void engine_watch_fini(struct engine *engine);
int engine_watch(struct engine *engine, struct tacho_err *err);
void engine_unwatch(struct engine *engine);
void engine_watch_again(struct engine *engine);
#endif
