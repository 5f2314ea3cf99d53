/* SPDX-License-Identifier: MIT */
/*
 * Providers that stand in for each other, best first. The first that works serves; those below it
 * rest; those above it have failed and keep being tried. Decides and tells, runs nothing itself.
 * Any thread.
 *
 * A member is known by a pointer of the caller's. The hooks are called with the chain locked and
 * may not call back into it.
 */
#ifndef TACHO_CORE_CHAIN_H
#define TACHO_CORE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

struct chain;

struct chain_hooks {
    /* Whether this member has to work may have changed. */
    void (*wake)(void *context, void *member);
    /* Another member serves now; either may be NULL: nobody. `reason` tells what `from` failed of,
     * or is "" when a better one came back. */
    void (*switched)(void *context, const char *chain, void *from, void *to, const char *reason);
    void *context;
};

struct chain *chain_new(const char *name, const struct chain_hooks *hooks);
void chain_free(struct chain *chain);
const char *chain_name(const struct chain *chain);

/* The members, best first; what is known of those that stay is kept. 0, or -1 without memory. */
int chain_set(struct chain *chain, void *const *members, uint32_t count);

/* Whether a member has to work now: all better ones have failed. */
bool chain_active(struct chain *chain, const void *member);

/* Tells how a call went. True when this member serves: then the chain is held for it to publish,
 * until chain_leave. */
bool chain_enter(struct chain *chain, void *member, bool works, const char *reason);
void chain_leave(struct chain *chain);

/* Tells that a member failed, from any thread. */
void chain_fail(struct chain *chain, void *member, const char *reason);

#endif
