/* SPDX-License-Identifier: MIT */
/*
 * Who of a chain serves; see chain.h. A member of which nothing is known yet holds back those below
 * it: its first call ends or passes its deadline soon, and starting a worse one meanwhile would
 * publish twice.
 */
#include "core/chain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum health { UNKNOWN = 0, WORKS, FAILS };

struct member {
    void *who;
    enum health health;
};

struct chain {
    char *name;
    struct chain_hooks hooks;
    pthread_mutex_t lock; /* protects all below */
    struct member *members;
    uint32_t count;
    void *serving; /* the one that published last */
    bool failed;   /* it has failed since */
    char reason[256];
};

struct chain *chain_new(const char *name, const struct chain_hooks *hooks)
{
    struct chain *chain = calloc(1, sizeof *chain);
    if (!chain) {
        return NULL;
    }
    pthread_mutex_init(&chain->lock, NULL);
    chain->hooks = *hooks;
    chain->name = strdup(name);
    if (!chain->name) {
        chain_free(chain);
        return NULL;
    }
    return chain;
}

void chain_free(struct chain *chain)
{
    if (chain) {
        pthread_mutex_destroy(&chain->lock);
        free(chain->members);
        free(chain->name);
        free(chain);
    }
}

const char *chain_name(const struct chain *chain)
{
    return chain->name;
}

/* The functions below are called with the lock held. */

static struct member *find(const struct chain *chain, const void *who)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        if (chain->members[i].who == who) {
            return &chain->members[i];
        }
    }
    return NULL;
}

static void wake_all(const struct chain *chain)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        chain->hooks.wake(chain->hooks.context, chain->members[i].who);
    }
}

/* Whether it is this one's turn. One that serves goes on while a new and better one makes its first
 * attempt. */
static bool better_failed(const struct chain *chain, const struct member *member)
{
    bool serves = member->who == chain->serving && !chain->failed;
    for (const struct member *better = chain->members; better < member; better++) {
        if (better->health == WORKS || (better->health == UNKNOWN && !serves)) {
            return false;
        }
    }
    return true;
}

/* A member works and is in front: those below it rest, and nothing is known of them any more. */
static void serve(struct chain *chain, struct member *member)
{
    for (struct member *other = member + 1; other < chain->members + chain->count; other++) {
        other->health = UNKNOWN;
    }
    if (chain->serving != member->who) {
        chain->hooks.switched(chain->hooks.context, chain->name, chain->serving, member->who,
                              chain->failed ? chain->reason : "");
        chain->serving = member->who;
        wake_all(chain);
    }
    chain->failed = false;
}

static void set_failed(struct chain *chain, struct member *member, const char *reason)
{
    bool news = member->health != FAILS;
    member->health = FAILS;
    if (member->who == chain->serving && !chain->failed) {
        chain->failed = true;
        size_t length = strnlen(reason, sizeof chain->reason - 1);
        memcpy(chain->reason, reason, length);
        chain->reason[length] = '\0';
    }
    if (news) {
        wake_all(chain);
    }
}

int chain_set(struct chain *chain, void *const *members, uint32_t count)
{
    struct member *list = calloc(count ? count : 1, sizeof *list);
    if (!list) {
        return -1;
    }
    pthread_mutex_lock(&chain->lock);
    bool serving = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct member *known = find(chain, members[i]);
        list[i] = (struct member){.who = members[i], .health = known ? known->health : UNKNOWN};
        serving = serving || members[i] == chain->serving;
    }
    free(chain->members);
    chain->members = list;
    chain->count = count;
    if (!serving) {
        chain->serving = NULL;
        chain->failed = false;
    }
    wake_all(chain);
    pthread_mutex_unlock(&chain->lock);
    return 0;
}

bool chain_active(struct chain *chain, const void *who)
{
    pthread_mutex_lock(&chain->lock);
    const struct member *member = find(chain, who);
    bool active = member && better_failed(chain, member);
    pthread_mutex_unlock(&chain->lock);
    return active;
}

bool chain_enter(struct chain *chain, void *who, bool works, const char *reason)
{
    pthread_mutex_lock(&chain->lock);
    struct member *member = find(chain, who);
    bool serves = member && works && better_failed(chain, member);
    if (serves) {
        member->health = WORKS;
        serve(chain, member);
        return true;
    }
    if (member && !works) {
        set_failed(chain, member, reason);
    }
    pthread_mutex_unlock(&chain->lock);
    return false;
}

void chain_leave(struct chain *chain)
{
    pthread_mutex_unlock(&chain->lock);
}

void chain_fail(struct chain *chain, void *who, const char *reason)
{
    pthread_mutex_lock(&chain->lock);
    struct member *member = find(chain, who);
    if (member) {
        set_failed(chain, member, reason);
    }
    pthread_mutex_unlock(&chain->lock);
}
