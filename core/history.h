/* SPDX-License-Identifier: MIT */
/*
 * A minute of the numbers of one source: a table with a row for each moment and a column for each
 * number that its stable entities have. It grows to what the source's interval needs, within a
 * bound; a source of the same schema allocates nothing more. One thread at a time.
 */
#ifndef TACHO_CORE_HISTORY_H
#define TACHO_CORE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"

#define HISTORY_SPAN_NS (60 * INT64_C(1000000000))
#define HISTORY_STEP_NS (100 * INT64_C(1000000))  /* rows are at least this far apart */
#define HISTORY_JITTER_NS (10 * INT64_C(1000000)) /* … give or take the jitter of a tick */
#define HISTORY_BYTES (4u << 20)                  /* bound for one source */

struct history {
    uint32_t columns;
    uint32_t first, rows, size; /* a ring of rows */
    int64_t step_ns;            /* grows when the bound is reached */
    int64_t *times;             /* wall clock */
    double *cells;              /* NaN: absent */
};

void history_fini(struct history *history);
void history_reset(struct history *history); /* forgets the rows, keeps the columns */

/* Bytes that it holds. */
size_t history_bytes(const struct history *history);

/* Prepares for batches of the schema of `batch`; columns that `before` (NULL: none) had as well
 * keep their rows. False without memory: then there is no history. */
bool history_shape(struct history *history, const struct tacho_batch *before,
                   const struct tacho_batch *batch);

/* Adds the row of a batch of that schema, unless it comes too early. */
void history_add(struct history *history, const struct tacho_batch *batch);

/* The column of a number in batches of that schema, or -1. */
int64_t history_column(const struct tacho_batch *batch, const char *kind, const char *key,
                       uint32_t metric_id);

/* Row 0 is the oldest. */
int64_t history_time(const struct history *history, uint32_t row);
double history_cell(const struct history *history, uint32_t row, uint32_t column);

#endif
