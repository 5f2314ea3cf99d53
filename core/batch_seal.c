/* SPDX-License-Identifier: MIT */
/*
 * Sealing: the end of a batch's filling, and the schema id; see batch.h. The id is a content hash
 * of what the rows mean. It depends on no process, machine or moment, and it costs one pass over
 * the names and a few operations for each value, since every batch pays for it.
 */
#include "core/batch.h"

#include <string.h>
#include <xxhash.h>

#include "core/clock.h"
#include "core/metric.h"

static void resolve_ranges(struct tacho_batch *batch)
{
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        struct tacho_entity *entity = &batch->entities[i];
        /* Where there never was a label, there is no array, and the index is 0. */
        entity->labels = batch->labels ? batch->labels + (uintptr_t)entity->labels : NULL;
        entity->values = batch->values ? batch->values + (uintptr_t)entity->values : NULL;
    }
}

static uint32_t count_stable(const struct tacho_batch *batch)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        count += !(batch->entities[i].flags & TACHO_VOLATILE);
    }
    return count;
}

/* Puts volatile entities behind the stable ones, each in their order. Otherwise a process between
 * two GPUs would shift the second one, and with it the parents that the schema names. */
static void order_entities(struct tacho_batch *batch)
{
    uint32_t count = batch->entity_count;
    batch->stable_count = count_stable(batch);
    if (!batch->mixed) {
        return;
    }
    struct tacho_entity *ordered = arena_alloc(&batch->texts, count * sizeof *ordered);
    int32_t *moved = arena_alloc(&batch->texts, count * sizeof *moved);
    if (!ordered || !moved) {
        batch->truncated = true;
        batch->entity_count = batch->stable_count = 0;
        return;
    }
    uint32_t stable = 0, other = batch->stable_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = batch->entities[i].flags & TACHO_VOLATILE ? other++ : stable++;
        ordered[to] = batch->entities[i];
        moved[i] = (int32_t)to;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (ordered[i].parent >= 0) {
            ordered[i].parent = moved[ordered[i].parent];
        }
    }
    memcpy(batch->entities, ordered, count * sizeof *ordered);
}

/* Mixes a number into a hash; the multiplier is the golden ratio in 64 bits. */
static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, XXH3_64bits(text, strlen(text)));
}

static uint64_t mix_metrics(uint64_t hash, const struct tacho_entity *entity)
{
    hash = mix(hash, entity->value_count);
    for (uint32_t i = 0; i < entity->value_count; i++) {
        hash = mix(hash, metric_get(entity->values[i].metric)->hash);
    }
    return hash;
}

static uint64_t shape_hash(const struct tacho_entity *entity)
{
    return mix_metrics(XXH3_64bits(entity->kind, strlen(entity->kind)), entity);
}

/* Files a volatile entity under its shape, kept in order of their hashes so that the order of the
 * entities does not matter. Returns false when there are too many shapes. */
static bool add_shape(struct tacho_batch *batch, uint32_t index)
{
    uint64_t hash = shape_hash(&batch->entities[index]);
    uint32_t at = 0;
    while (at < batch->shape_count && batch->shapes[at].hash < hash) {
        at++;
    }
    if (at < batch->shape_count && batch->shapes[at].hash == hash) {
        return true;
    }
    if (batch->shape_count == BATCH_SHAPE_LIMIT) {
        return false;
    }
    memmove(&batch->shapes[at + 1], &batch->shapes[at],
            (batch->shape_count - at) * sizeof batch->shapes[0]);
    batch->shapes[at] = (struct batch_shape){.hash = hash, .example = index};
    batch->shape_count++;
    return true;
}

uint32_t batch_shape_of(const struct tacho_batch *batch, uint32_t index)
{
    if (batch->shape_count == 1) {
        return 0;
    }
    uint64_t hash = shape_hash(&batch->entities[index]);
    uint32_t at = 0;
    while (at < batch->shape_count && batch->shapes[at].hash != hash) {
        at++;
    }
    return at;
}

static uint64_t names_hash(const struct tacho_batch *batch)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (const struct arena_chunk *chunk = batch->names.first; chunk; chunk = chunk->next) {
        XXH3_64bits_update(&state, chunk->data, chunk->used);
    }
    return XXH3_64bits_digest(&state);
}

/* Everything that the rows of this batch need to be understood: whose they are, texts of stable
 * entities, their nesting, the metrics of each, and the shapes of volatile entities. The same on
 * every machine and in every process; 0 is never returned. */
static uint64_t schema_hash(struct tacho_batch *batch)
{
    uint64_t hash = names_hash(batch);
    hash = mix_text(mix_text(mix_text(hash, batch->fleet), batch->host), batch->source);
    hash = mix(hash, batch->stable_count);
    for (uint32_t i = 0; i < batch->stable_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        hash = mix(mix_metrics(hash, entity), (uint64_t)(uint32_t)entity->parent);
        hash = mix(hash, entity->label_count);
    }
    for (uint32_t i = batch->stable_count; i < batch->entity_count; i++) {
        if (!add_shape(batch, i)) {
            batch->truncated = true;
            batch->entity_count = i;
        }
    }
    for (uint32_t i = 0; i < batch->shape_count; i++) {
        hash = mix(hash, batch->shapes[i].hash);
    }
    return hash ? hash : 1;
}

void batch_seal(struct tacho_batch *batch, uint64_t seq)
{
    if (batch->duration_ns < 0) {
        batch->duration_ns = clock_mono_ns() - batch->mono_ns;
    }
    if (!batch->numbered) {
        batch->seq = seq;
    }
    resolve_ranges(batch);
    order_entities(batch);
    batch->schema = schema_hash(batch);
    batch->sealed = true;
}
