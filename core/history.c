/* SPDX-License-Identifier: MIT */
/*
 * The table of one source's numbers; see history.h. Columns stand in the order in which the numbers
 * stand in a batch, which is the same for all batches of a schema: so a row is filled in one walk
 * without looking anything up.
 */
#include "core/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/metric.h"

enum { FIRST_ROWS = 4 }; /* enough to see the interval */

/* A walk over the numbers of a batch: the stable entities' gauges and counters. */
struct walk {
    const struct tacho_batch *batch;
    uint32_t entity, value;
};

static bool is_number(uint32_t metric_id)
{
    int32_t kind = metric_get(metric_id)->desc.kind;
    return kind == TACHO_GAUGE || kind == TACHO_COUNTER;
}

/* The next number and its entity, or NULL. */
static const struct tacho_value *next_number(struct walk *walk, const struct tacho_entity **out)
{
    for (; walk->entity < walk->batch->entity_count; walk->entity++, walk->value = 0) {
        const struct tacho_entity *entity = &walk->batch->entities[walk->entity];
        if (entity->flags & TACHO_VOLATILE) {
            continue;
        }
        while (walk->value < entity->value_count) {
            const struct tacho_value *value = &entity->values[walk->value++];
            if (is_number(value->metric)) {
                *out = entity;
                return value;
            }
        }
    }
    return NULL;
}

static uint32_t count_numbers(const struct tacho_batch *batch)
{
    struct walk walk = {.batch = batch};
    const struct tacho_entity *entity;
    uint32_t count = 0;
    while (next_number(&walk, &entity)) {
        count++;
    }
    return count;
}

static double number_of(const struct tacho_value *value)
{
    switch (value->type) {
    case TACHO_VALUE_F64: return value->as.f64;
    case TACHO_VALUE_I64: return (double)value->as.i64;
    case TACHO_VALUE_SUMMARY: return value->as.summary->mean;
    default: return NAN;
    }
}

void history_fini(struct history *history)
{
    free(history->times);
    free(history->cells);
    *history = (struct history){0};
}

void history_reset(struct history *history)
{
    history->first = history->rows = 0;
}

size_t history_bytes(const struct history *history)
{
    return (size_t)history->size * (sizeof *history->times + history->columns * sizeof(double));
}

int64_t history_time(const struct history *history, uint32_t row)
{
    return history->times[(history->first + row) % history->size];
}

static double *row_at(const struct history *history, uint32_t row)
{
    return history->cells + (size_t)((history->first + row) % history->size) * history->columns;
}

double history_cell(const struct history *history, uint32_t row, uint32_t column)
{
    return row_at(history, row)[column];
}

int64_t history_column(const struct tacho_batch *batch, const char *kind, const char *key,
                       uint32_t metric_id)
{
    struct walk walk = {.batch = batch};
    const struct tacho_entity *entity;
    const struct tacho_value *value;
    for (int64_t column = 0; (value = next_number(&walk, &entity)); column++) {
        if (value->metric == metric_id && strcmp(entity->kind, kind) == 0 &&
            strcmp(entity->key, key) == 0) {
            return column;
        }
    }
    return -1;
}

static bool allocate(struct history *history, uint32_t columns, uint32_t size)
{
    *history = (struct history){.columns = columns, .size = size, .step_ns = HISTORY_STEP_NS};
    history->times = malloc(size * sizeof *history->times);
    history->cells = malloc(size * columns * sizeof *history->cells + 1);
    if (!history->times || !history->cells) {
        history_fini(history);
        return false;
    }
    return true;
}

/* Copies the rows of one column; column -1 of the source was not there. */
static void copy_column(struct history *to, uint32_t to_column, const struct history *from,
                        int64_t from_column)
{
    for (uint32_t row = 0; row < from->rows; row++) {
        row_at(to, row)[to_column] =
            from_column < 0 ? NAN : history_cell(from, row, (uint32_t)from_column);
    }
}

static void copy_times(struct history *to, const struct history *from)
{
    to->rows = from->rows;
    to->step_ns = from->step_ns;
    for (uint32_t row = 0; row < from->rows; row++) {
        to->times[row] = history_time(from, row);
    }
}

bool history_shape(struct history *history, const struct tacho_batch *before,
                   const struct tacho_batch *batch)
{
    struct history shaped;
    uint32_t size = history->size ? history->size : FIRST_ROWS;
    if (!allocate(&shaped, count_numbers(batch), size)) {
        history_fini(history);
        return false;
    }
    if (before && history->size) {
        copy_times(&shaped, history);
        struct walk walk = {.batch = batch};
        const struct tacho_entity *entity;
        const struct tacho_value *value;
        for (uint32_t column = 0; (value = next_number(&walk, &entity)); column++) {
            copy_column(&shaped, column, history,
                        history_column(before, entity->kind, entity->key, value->metric));
        }
    }
    history_fini(history);
    *history = shaped;
    return true;
}

/* How many rows a minute takes at the pace seen so far, within the bound. */
static uint32_t rows_needed(const struct history *history)
{
    int64_t limit = HISTORY_SPAN_NS / (HISTORY_STEP_NS - HISTORY_JITTER_NS) + 1;
    int64_t affordable = HISTORY_BYTES / (int64_t)(history_bytes(history) / history->size);
    int64_t seen_ns = history_time(history, history->rows - 1) - history_time(history, 0);
    int64_t rows = seen_ns > 0 ? HISTORY_SPAN_NS * (history->rows - 1) / seen_ns + 2 : limit;
    rows += rows / 8; /* a pace that is a little faster later on */
    rows = rows < limit ? rows : limit;
    return (uint32_t)(rows < affordable ? rows : affordable);
}

/* Makes room for a minute; where the bound does not allow that, gives up resolution. */
static void grow(struct history *history)
{
    struct history larger;
    uint32_t size = rows_needed(history);
    if (size <= history->size || !allocate(&larger, history->columns, size)) {
        history->step_ns *= 2;
        return;
    }
    copy_times(&larger, history);
    for (uint32_t row = 0; row < history->rows; row++) {
        memcpy(row_at(&larger, row), row_at(history, row), history->columns * sizeof(double));
    }
    history_fini(history);
    *history = larger;
}

static void drop_old(struct history *history, int64_t wall_ns)
{
    while (history->rows > 0 && history_time(history, 0) < wall_ns - HISTORY_SPAN_NS) {
        history->first = (history->first + 1) % history->size;
        history->rows--;
    }
}

void history_add(struct history *history, const struct tacho_batch *batch)
{
    if (history->size == 0) {
        return;
    }
    /* A tick may come early by its jitter; this tolerance keeps a source of 100 ms whole. */
    int64_t soonest_ns = history->step_ns - HISTORY_JITTER_NS;
    if (history->rows > 0 &&
        batch->wall_ns < history_time(history, history->rows - 1) + soonest_ns) {
        return;
    }
    drop_old(history, batch->wall_ns);
    if (history->rows == history->size) {
        grow(history);
    }
    if (history->rows == history->size) {
        history->first = (history->first + 1) % history->size;
        history->rows--;
    }
    uint32_t row = history->rows++;
    history->times[(history->first + row) % history->size] = batch->wall_ns;
    double *cells = row_at(history, row);
    struct walk walk = {.batch = batch};
    const struct tacho_entity *entity;
    const struct tacho_value *value;
    for (uint32_t column = 0; column < history->columns; column++) {
        value = next_number(&walk, &entity);
        cells[column] = value ? number_of(value) : NAN;
    }
}
