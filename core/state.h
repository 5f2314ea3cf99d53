/* SPDX-License-Identifier: MIT */
/*
 * What is known now: the newest batch of each source of each host (held by reference, not copied),
 * a minute of history for each number, and the last events. A batch too old to be called fresh
 * leaves the snapshot; a source that nobody hears of any more is forgotten. Any thread.
 */
#ifndef TACHO_CORE_STATE_H
#define TACHO_CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"

#define STATE_HISTORY_NS (60 * INT64_C(1000000000))

struct state;
struct tacho_snapshot;

struct state *state_new(void);
void state_free(struct state *state);

/* Called by the bus for each batch; takes a reference. */
void state_update(struct state *state, const struct tacho_batch *batch);

/* Another source stands in for this one: it leaves the snapshot until it is heard again; its
 * history stays for its minute. */
void state_hide(struct state *state, const char *host, const char *source);

/* The newest batch of every source heard within the last minute, sorted by host and source, held
 * until state_snapshot_free. Events are not in it. NULL without memory. */
struct tacho_snapshot *state_snapshot(struct state *state);
uint32_t state_snapshot_count(const struct tacho_snapshot *snapshot);
const struct tacho_batch *state_snapshot_at(const struct tacho_snapshot *snapshot, uint32_t index);
void state_snapshot_free(struct tacho_snapshot *snapshot);

/* The last events, oldest first, at most `size` of the 256 kept; each is a reference of the
 * caller's. Returns how many. */
uint32_t state_events(struct state *state, const struct tacho_batch **out, uint32_t size);

struct state_point {
    int64_t wall_ns;
    double number;
};

/* The minute of one number, oldest first, at most `size` points; a summary counts by its mean.
 * Points closer than 100 ms to their neighbour are left out. Returns how many. */
uint32_t state_history(struct state *state, const char *host, const char *kind, const char *key,
                       uint32_t metric_id, struct state_point *out, uint32_t size);

#endif
