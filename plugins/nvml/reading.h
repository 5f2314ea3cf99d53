/* SPDX-License-Identifier: MIT */
/*
 * A reading: what a worker saw of one GPU, kept until the collecting thread writes it into the
 * batch. It is a list of entities, labels and values in the order of the batch, with memory of its
 * own that is used again, and it never calls the host: a worker that comes back late from the
 * driver may find the host gone.
 */
#ifndef TACHO_PLUGINS_NVML_READING_H
#define TACHO_PLUGINS_NVML_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plugin.h"

struct reading_item;

struct reading {
    struct reading_item *items;
    uint32_t count, size;
    char *bytes; /* texts and summaries, by offset */
    uint32_t used, bytes_size;
    uint32_t entities;
    bool cut; /* memory was short: something is missing */
};

void reading_reset(struct reading *reading);
void reading_fini(struct reading *reading);
void reading_swap(struct reading *a, struct reading *b);

/* The next entity; returns its number in this reading, to be used as a parent. `kind` and the names
 * of labels must be constants, keys and values are copied. */
int32_t reading_entity(struct reading *reading, const char *kind, const char *key, int32_t parent);
void reading_label(struct reading *reading, const char *name, const char *value);

/* Values of the entity opened last. */
void reading_f64(struct reading *reading, int32_t metric, double value);
void reading_i64(struct reading *reading, int32_t metric, int64_t value);
void reading_text(struct reading *reading, int32_t metric, const char *value);
void reading_flags(struct reading *reading, int32_t metric, uint64_t bits);
void reading_summary(struct reading *reading, int32_t metric, const struct tacho_summary *value);
void reading_absent(struct reading *reading, int32_t metric, int reason);

/* From here on values are facts: they hold although the GPU can no longer be read. */
void reading_facts(struct reading *reading, bool facts);

/* Appends the values (no entities, no labels) of another reading. */
void reading_append(struct reading *reading, const struct reading *values);

/* Whether an entity has a value for the metric, or an absence: the first such item. */
bool reading_has(const struct reading *reading, int32_t metric);

/* Writes one entity from item `at` on and returns where the next begins; `first` is the batch's
 * index of the reading's first entity. With a reason, every value that is no fact is absent for
 * it. */
uint32_t reading_write(const struct reading *reading, uint32_t at, int reason,
                       const struct tacho_host *host, struct tacho_batch *batch, int32_t *first);

#endif
