/* SPDX-License-Identifier: MIT */
/*
 * Filling, sealing and reading batches; see batch.h. Values, entities and labels are three arrays;
 * an entity names its range in the other two. While a batch is open the arrays may move, so an
 * entity holds its first index in the pointer's place and sealing turns indices into pointers.
 */
#include "core/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/clock.h"
#include "core/metric.h"

/* ---- filling --------------------------------------------------------------------------------- */

/* Makes room for one more item of an array; false past the limit or without memory. */
static bool grow(void **items, uint32_t count, uint32_t *size, uint32_t limit, size_t item)
{
    if (count < *size) {
        return true;
    }
    uint32_t more = *size ? *size * 2 : 32;
    if (count >= limit) {
        return false;
    }
    void *moved = realloc(*items, more * item);
    if (!moved) {
        return false;
    }
    *items = moved;
    *size = more;
    return true;
}

static char *copy_name(struct tacho_batch *batch, uint32_t entity_flags, const char *text)
{
    struct arena *arena = entity_flags & TACHO_VOLATILE ? &batch->texts : &batch->names;
    return arena_text(arena, text);
}

int32_t batch_entity(struct tacho_batch *batch, const char *kind, const char *key, int32_t parent,
                     uint32_t flags)
{
    if (batch->truncated ||
        !grow((void **)&batch->entities, batch->entity_count, &batch->entity_size,
              BATCH_ENTITY_LIMIT, sizeof *batch->entities)) {
        batch->truncated = true;
        return -1;
    }
    const char *kind_copy = copy_name(batch, flags, kind);
    const char *key_copy = copy_name(batch, flags, key);
    if (!kind_copy || !key_copy) {
        batch->truncated = true;
        return -1;
    }
    int32_t index = (int32_t)batch->entity_count++;
    batch->entities[index] = (struct tacho_entity){.kind = kind_copy,
                                                   .key = key_copy,
                                                   .parent = parent < index ? parent : -1,
                                                   .flags = flags,
                                                   .labels = (void *)(uintptr_t)batch->label_count,
                                                   .values = (void *)(uintptr_t)batch->value_count};
    return index;
}

/* The entity that labels and values go to, or NULL when there is none. */
static struct tacho_entity *current(struct tacho_batch *batch)
{
    return batch->entity_count && !batch->truncated ? &batch->entities[batch->entity_count - 1]
                                                    : NULL;
}

void batch_label(struct tacho_batch *batch, const char *name, const char *value)
{
    struct tacho_entity *entity = current(batch);
    if (!entity) {
        return;
    }
    if (!grow((void **)&batch->labels, batch->label_count, &batch->label_size, BATCH_VALUE_LIMIT,
              sizeof *batch->labels)) {
        batch->truncated = true;
        return;
    }
    struct tacho_label label = {.name = copy_name(batch, entity->flags, name),
                                .value = copy_name(batch, entity->flags, value)};
    if (!label.name || !label.value) {
        batch->truncated = true;
        return;
    }
    batch->labels[batch->label_count++] = label;
    entity->label_count++;
}

void batch_value(struct tacho_batch *batch, const struct tacho_value *value)
{
    struct tacho_entity *entity = current(batch);
    if (!entity) {
        return;
    }
    if (!grow((void **)&batch->values, batch->value_count, &batch->value_size, BATCH_VALUE_LIMIT,
              sizeof *batch->values)) {
        batch->truncated = true;
        return;
    }
    batch->values[batch->value_count++] = *value;
    entity->value_count++;
}

/* Adds a value under an index of the instance's own. */
static void put(struct tacho_batch *batch, int32_t metric, struct tacho_value *value)
{
    if (!batch->map) {
        value->metric = (uint32_t)metric;
    } else if (metric >= 0 && (uint32_t)metric < batch->map->count) {
        value->metric = batch->map->ids[metric];
    } else {
        return;
    }
    batch_value(batch, value);
}

void batch_f64(struct tacho_batch *batch, int32_t metric, double number)
{
    struct tacho_value value = {.type = TACHO_VALUE_F64, .as.f64 = number};
    if (!isfinite(number)) {
        value = (struct tacho_value){.type = TACHO_VALUE_ABSENT, .reason = TACHO_ABSENT_ERROR};
    }
    put(batch, metric, &value);
}

void batch_i64(struct tacho_batch *batch, int32_t metric, int64_t number)
{
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_I64, .as.i64 = number});
}

void batch_text(struct tacho_batch *batch, int32_t metric, const char *text)
{
    const char *copy = arena_text(&batch->texts, text);
    if (!copy) {
        batch->truncated = true;
        return;
    }
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_TEXT, .as.text = copy});
}

void batch_flags(struct tacho_batch *batch, int32_t metric, uint64_t bits)
{
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_FLAGS, .as.flags = bits});
}

void batch_summary(struct tacho_batch *batch, int32_t metric, const struct tacho_summary *summary)
{
    struct tacho_summary *copy = arena_alloc(&batch->texts, sizeof *copy);
    if (!copy) {
        batch->truncated = true;
        return;
    }
    *copy = *summary;
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_SUMMARY, .as.summary = copy});
}

void batch_absent(struct tacho_batch *batch, int32_t metric, int reason)
{
    put(batch, metric,
        &(struct tacho_value){.type = TACHO_VALUE_ABSENT, .reason = (uint8_t)reason});
}

static void put_event_text(struct tacho_batch *batch, const char *name, const char *text)
{
    const struct metric *metric = metric_find(name);
    const char *copy = arena_text(&batch->texts, text);
    if (!copy) {
        batch->truncated = true;
        return;
    }
    batch_value(batch, &(struct tacho_value){
                           .metric = metric->id, .type = TACHO_VALUE_TEXT, .as.text = copy});
}

void batch_event(struct tacho_batch *batch, const char *type, int severity, const char *message)
{
    put_event_text(batch, "event.type", type);
    put_event_text(batch, "event.severity", batch_severity_name(severity));
    put_event_text(batch, "event.message", message);
    batch->flags |= TACHO_EVENT;
}

void batch_mark(struct tacho_batch *batch, uint32_t flags)
{
    batch->flags |= flags;
}

void batch_stamp(struct tacho_batch *batch, int64_t wall_ns, int64_t duration_ns)
{
    batch->wall_ns = wall_ns;
    batch->duration_ns = duration_ns;
}

void batch_origin(struct tacho_batch *batch, const char *fleet, const char *host,
                  const char *source, uint64_t session, uint64_t seq)
{
    const char *fleet_copy = arena_text(&batch->texts, fleet);
    const char *host_copy = arena_text(&batch->texts, host);
    const char *source_copy = arena_text(&batch->texts, source);
    if (!fleet_copy || !host_copy || !source_copy) {
        batch->truncated = true;
        return;
    }
    batch->fleet = fleet_copy;
    batch->host = host_copy;
    batch->source = source_copy;
    batch->session = session;
    batch->seq = seq;
    batch->numbered = true;
}

/* ---- sealing --------------------------------------------------------------------------------- */

static void resolve_ranges(struct tacho_batch *batch)
{
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        struct tacho_entity *entity = &batch->entities[i];
        entity->labels = batch->labels + (uintptr_t)entity->labels;
        entity->values = batch->values + (uintptr_t)entity->values;
    }
}

/* Mixes a number into a hash; the multiplier is the golden ratio in 64 bits. */
static uint64_t mix(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t mix_metrics(uint64_t hash, const struct tacho_entity *entity)
{
    hash = mix(hash, entity->value_count);
    for (uint32_t i = 0; i < entity->value_count; i++) {
        hash = mix(hash, metric_get(entity->values[i].metric)->hash);
    }
    return hash;
}

/* Files a volatile entity under its shape, kept in order of their hashes so that the order of the
 * entities does not matter. Returns false when there are too many shapes. */
static bool add_shape(struct tacho_batch *batch, uint32_t index)
{
    const struct tacho_entity *entity = &batch->entities[index];
    uint64_t hash = mix_metrics(XXH3_64bits(entity->kind, strlen(entity->kind)), entity);
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
    const struct tacho_entity *entity = &batch->entities[index];
    if (batch->shape_count == 1) {
        return 0;
    }
    uint64_t hash = mix_metrics(XXH3_64bits(entity->kind, strlen(entity->kind)), entity);
    uint32_t at = 0;
    while (at < batch->shape_count && batch->shapes[at].hash != hash) {
        at++;
    }
    return at;
}

/* Everything that the rows of this batch need to be understood: texts of stable entities, their
 * nesting, the metrics of each, and the shapes of volatile entities. The same on every machine and
 * in every process; 0 is never returned. */
static uint64_t schema_hash(struct tacho_batch *batch)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (const struct arena_chunk *chunk = batch->names.first; chunk; chunk = chunk->next) {
        XXH3_64bits_update(&state, chunk->data, chunk->used);
    }
    uint64_t hash = XXH3_64bits_digest(&state);
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        if (!(entity->flags & TACHO_VOLATILE)) {
            hash = mix(mix_metrics(hash, entity), (uint64_t)(uint32_t)entity->parent);
            hash = mix(hash, entity->label_count);
        } else if (!add_shape(batch, i)) {
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
    batch->schema = schema_hash(batch);
    batch->sealed = true;
}

/* ---- reading --------------------------------------------------------------------------------- */

void batch_info(const struct tacho_batch *batch, struct tacho_batch_info *out)
{
    *out = (struct tacho_batch_info){.fleet = batch->fleet,
                                     .host = batch->host,
                                     .source = batch->source,
                                     .session = batch->session,
                                     .seq = batch->seq,
                                     .wall_ns = batch->wall_ns,
                                     .mono_ns = batch->mono_ns,
                                     .duration_ns = batch->duration_ns,
                                     .schema = batch->schema,
                                     .flags = batch->flags,
                                     .entity_count = batch->entity_count};
}

int batch_entity_at(const struct tacho_batch *batch, uint32_t index, struct tacho_entity *out)
{
    if (!batch->sealed || index >= batch->entity_count) {
        return TACHO_NO_DATA;
    }
    *out = batch->entities[index];
    return TACHO_OK;
}

const struct tacho_value *batch_find(const struct tacho_batch *batch, uint32_t entity,
                                     uint32_t metric_id)
{
    const struct tacho_entity *at = &batch->entities[entity];
    for (uint32_t i = 0; i < at->value_count; i++) {
        if (at->values[i].metric == metric_id) {
            return &at->values[i];
        }
    }
    return NULL;
}

static const char *const reason_names[] = {"",        "unsupported", "denied", "lost",
                                           "not_yet", "stale",       "error"};

const char *batch_reason_name(int reason)
{
    return reason >= TACHO_ABSENT_UNSUPPORTED && reason <= TACHO_ABSENT_ERROR ? reason_names[reason]
                                                                              : "unknown";
}

int batch_parse_reason(const char *text)
{
    for (int reason = TACHO_ABSENT_UNSUPPORTED; reason <= TACHO_ABSENT_ERROR; reason++) {
        if (strcmp(text, reason_names[reason]) == 0) {
            return reason;
        }
    }
    return 0;
}

const char *batch_severity_name(int severity)
{
    static const char *const names[] = {"info", "warning", "critical"};
    return severity >= 0 && severity <= TACHO_SEVERITY_CRITICAL ? names[severity] : "info";
}
