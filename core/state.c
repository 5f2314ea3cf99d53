/* SPDX-License-Identifier: MIT */
/*
 * The state; see state.h. Sources lie in one array sorted by host and name. What a source measured
 * is in its newest batch and its history, which are of the same schema at all times: so a look-up
 * walks that batch and nothing is stored twice. How much untrusted hosts can make us keep is
 * bounded by the number of sources and the bytes of all histories.
 */
#include "core/state.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/history.h"

enum { EVENTS = 256, SOURCES = 4096, MERGED = 8 };
#define HISTORIES_BYTES (64u << 20) /* of all sources together */
#define SWEEP_NS (5 * NS_PER_S)

struct source {
    const struct tacho_batch *newest;
    int64_t heard_ns; /* monotonic clock */
    bool hidden;      /* another one stands in for it: history only */
    struct history history;
};

struct state {
    pthread_mutex_t lock; /* protects all below */
    struct source **sources;
    uint32_t count, size;
    size_t history_bytes;
    int64_t swept_ns;
    const struct tacho_batch *events[EVENTS]; /* a ring */
    uint32_t first_event, event_count;
};

struct tacho_snapshot {
    uint32_t count;
    const struct tacho_batch *batches[];
};

struct state *state_new(void)
{
    struct state *state = calloc(1, sizeof *state);
    if (state) {
        pthread_mutex_init(&state->lock, NULL);
    }
    return state;
}

static void source_free(struct state *state, struct source *source)
{
    state->history_bytes -= history_bytes(&source->history);
    history_fini(&source->history);
    batch_unref(source->newest);
    free(source);
}

void state_free(struct state *state)
{
    if (!state) {
        return;
    }
    for (uint32_t i = 0; i < state->count; i++) {
        source_free(state, state->sources[i]);
    }
    for (uint32_t i = 0; i < state->event_count; i++) {
        batch_unref(state->events[(state->first_event + i) % EVENTS]);
    }
    pthread_mutex_destroy(&state->lock);
    free(state->sources);
    free(state);
}

/* Where a source is, or belongs. Called with the lock held. */
static uint32_t place_of(const struct state *state, const char *host, const char *name,
                         bool *out_there)
{
    uint32_t low = 0, high = state->count;
    *out_there = false;
    while (low < high && !*out_there) {
        uint32_t middle = (low + high) / 2;
        const struct tacho_batch *newest = state->sources[middle]->newest;
        int order = strcmp(newest->host, host);
        order = order ? order : strcmp(newest->source, name);
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
            *out_there = order == 0;
        }
    }
    return high;
}

static bool silent(const struct source *source, int64_t now_ns)
{
    return now_ns - source->heard_ns > STATE_HISTORY_NS;
}

static void sweep(struct state *state, int64_t now_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < state->count; i++) {
        if (silent(state->sources[i], now_ns)) {
            source_free(state, state->sources[i]);
        } else {
            state->sources[kept++] = state->sources[i];
        }
    }
    state->count = kept;
    state->swept_ns = now_ns;
}

static bool make_room(struct state *state)
{
    if (state->count < state->size) {
        return true;
    }
    uint32_t size = state->size ? state->size * 2 : 16;
    struct source **moved =
        state->count < SOURCES ? realloc(state->sources, size * sizeof(struct source *)) : NULL;
    if (moved) {
        state->sources = moved;
        state->size = size;
    }
    return moved != NULL;
}

static void add_source(struct state *state, uint32_t at, const struct tacho_batch *batch,
                       int64_t now_ns)
{
    struct source *source = make_room(state) ? calloc(1, sizeof *source) : NULL;
    if (!source) {
        return;
    }
    memmove(&state->sources[at + 1], &state->sources[at],
            (state->count - at) * sizeof(struct source *));
    state->sources[at] = source;
    state->count++;
    source->newest = batch_ref(batch);
    source->heard_ns = now_ns;
    if (state->history_bytes < HISTORIES_BYTES) {
        history_shape(&source->history, NULL, batch);
        history_add(&source->history, batch);
        state->history_bytes += history_bytes(&source->history);
    }
}

/* Whether a batch is older than what is known of its source: a late delivery, not a new run. */
static bool outdated(const struct tacho_batch *newest, const struct tacho_batch *batch)
{
    if (batch->flags & TACHO_REPLAYED) {
        return false;
    }
    return batch->session < newest->session ||
           (batch->session == newest->session && batch->seq < newest->seq);
}

static void update_source(struct state *state, struct source *source,
                          const struct tacho_batch *batch, int64_t now_ns)
{
    const struct tacho_batch *before = source->newest;
    source->heard_ns = now_ns;
    source->hidden = false;
    if (outdated(before, batch)) {
        return;
    }
    state->history_bytes -= history_bytes(&source->history);
    if (batch->wall_ns < before->wall_ns) {
        history_reset(&source->history); /* played again, or the clock was set back */
    }
    if (source->history.size && batch->schema != before->schema) {
        history_shape(&source->history, before, batch);
    }
    history_add(&source->history, batch);
    state->history_bytes += history_bytes(&source->history);
    source->newest = batch_ref(batch);
    batch_unref(before);
}

static void add_event(struct state *state, const struct tacho_batch *batch)
{
    if (state->event_count == EVENTS) {
        batch_unref(state->events[state->first_event]);
        state->first_event = (state->first_event + 1) % EVENTS;
        state->event_count--;
    }
    state->events[(state->first_event + state->event_count++) % EVENTS] = batch_ref(batch);
}

void state_update(struct state *state, const struct tacho_batch *batch)
{
    int64_t now_ns = clock_mono_ns();
    pthread_mutex_lock(&state->lock);
    if (now_ns - state->swept_ns > SWEEP_NS) {
        sweep(state, now_ns);
    }
    bool there;
    if (batch->flags & TACHO_EVENT) {
        add_event(state, batch);
    } else {
        uint32_t at = place_of(state, batch->host, batch->source, &there);
        if (there) {
            update_source(state, state->sources[at], batch, now_ns);
        } else {
            add_source(state, at, batch, now_ns);
        }
    }
    pthread_mutex_unlock(&state->lock);
}

void state_hide(struct state *state, const char *host, const char *source)
{
    bool there;
    pthread_mutex_lock(&state->lock);
    uint32_t at = place_of(state, host, source, &there);
    if (there) {
        state->sources[at]->hidden = true;
    }
    pthread_mutex_unlock(&state->lock);
}

struct tacho_snapshot *state_snapshot(struct state *state)
{
    int64_t now_ns = clock_mono_ns();
    pthread_mutex_lock(&state->lock);
    struct tacho_snapshot *snapshot =
        malloc(sizeof *snapshot + state->count * sizeof snapshot->batches[0]);
    if (snapshot) {
        snapshot->count = 0;
        for (uint32_t i = 0; i < state->count; i++) {
            const struct source *source = state->sources[i];
            if (!source->hidden && !silent(source, now_ns)) {
                snapshot->batches[snapshot->count++] = batch_ref(source->newest);
            }
        }
    }
    pthread_mutex_unlock(&state->lock);
    return snapshot;
}

uint32_t state_snapshot_count(const struct tacho_snapshot *snapshot)
{
    return snapshot ? snapshot->count : 0;
}

const struct tacho_batch *state_snapshot_at(const struct tacho_snapshot *snapshot, uint32_t index)
{
    return index < state_snapshot_count(snapshot) ? snapshot->batches[index] : NULL;
}

void state_snapshot_free(struct tacho_snapshot *snapshot)
{
    for (uint32_t i = 0; i < state_snapshot_count(snapshot); i++) {
        batch_unref(snapshot->batches[i]);
    }
    free(snapshot);
}

uint32_t state_events(struct state *state, const struct tacho_batch **out, uint32_t size)
{
    pthread_mutex_lock(&state->lock);
    uint32_t count = state->event_count < size ? state->event_count : size;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = state->first_event + state->event_count - count + i;
        out[i] = batch_ref(state->events[at % EVENTS]);
    }
    pthread_mutex_unlock(&state->lock);
    return count;
}

/* ---- history of one number ------------------------------------------------------------------- */

/* A column that holds the number, read from its newest row to its oldest. */
struct reader {
    const struct history *history;
    uint32_t column;
    uint32_t left; /* rows not yet read */
};

static uint32_t find_readers(const struct state *state, const char *host, const char *kind,
                             const char *key, uint32_t metric_id, struct reader *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count && count < MERGED; i++) {
        const struct source *source = state->sources[i];
        if (source->history.size == 0 || strcmp(source->newest->host, host) != 0) {
            continue;
        }
        int64_t column = history_column(source->newest, kind, key, metric_id);
        if (column >= 0) {
            out[count++] = (struct reader){.history = &source->history,
                                           .column = (uint32_t)column,
                                           .left = source->history.rows};
        }
    }
    return count;
}

/* The reader whose next row is the newest, or NULL at the end. */
static struct reader *newest_of(struct reader *readers, uint32_t count)
{
    struct reader *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        struct reader *reader = &readers[i];
        if (reader->left > 0 && (!found || history_time(reader->history, reader->left - 1) >
                                               history_time(found->history, found->left - 1))) {
            found = reader;
        }
    }
    return found;
}

uint32_t state_history(struct state *state, const char *host, const char *kind, const char *key,
                       uint32_t metric_id, struct state_point *out, uint32_t size)
{
    struct reader readers[MERGED];
    uint32_t used = 0;
    int64_t begin_ns = clock_wall_ns();
    pthread_mutex_lock(&state->lock);
    uint32_t count = find_readers(state, host, kind, key, metric_id, readers);
    struct reader *reader = newest_of(readers, count);
    if (reader) {
        begin_ns = history_time(reader->history, reader->left - 1) - STATE_HISTORY_NS;
    }
    for (; reader && used < size; reader = newest_of(readers, count)) {
        uint32_t row = --reader->left;
        int64_t wall_ns = history_time(reader->history, row);
        double number = history_cell(reader->history, row, reader->column);
        if (isfinite(number) && wall_ns >= begin_ns &&
            (used == 0 || wall_ns <= out[used - 1].wall_ns - HISTORY_STEP_NS + HISTORY_JITTER_NS)) {
            out[used++] = (struct state_point){.wall_ns = wall_ns, .number = number};
        }
    }
    pthread_mutex_unlock(&state->lock);
    for (uint32_t i = 0; i < used / 2; i++) {
        struct state_point swapped = out[i];
        out[i] = out[used - 1 - i];
        out[used - 1 - i] = swapped;
    }
    return used;
}
