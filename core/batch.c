/* SPDX-License-Identifier: MIT */
/*
 * Filling and reading batches; see batch.h. Values, entities and labels are three arrays; an entity
 * names its range in the other two. While a batch is open the arrays may move, so an entity holds
 * its first index in the pointer's place; sealing (batch_seal.c) turns indices into pointers.
 *
 * Whatever comes in is made fit to be encoded here, once, so that no encoder and no reader has to
 * doubt it: texts are UTF-8, numbers finite, metrics known, names on an entity unique.
 */
#include "core/batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/metric.h"
#include "core/utf8.h"

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

/* On its own for the sake of its stack. */
static __attribute__((noinline)) char *copy_unclean(struct arena *arena, const char *text,
                                                    size_t length)
{
    char clean[BATCH_TEXT_LIMIT + 1];
    return arena_text_of(arena, clean, utf8_clean(text, length, clean, sizeof clean));
}

/* A copy of text as UTF-8, at most BATCH_TEXT_LIMIT long, or NULL. */
static char *copy_text(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    return length <= BATCH_TEXT_LIMIT && utf8_ok(text, length) ? arena_text_of(arena, text, length)
                                                               : copy_unclean(arena, text, length);
}

static char *copy_name(struct tacho_batch *batch, uint32_t entity_flags, const char *text)
{
    return copy_text(entity_flags & TACHO_VOLATILE ? &batch->texts : &batch->names, text);
}

static bool is_volatile(const struct tacho_batch *batch, int32_t index)
{
    return index >= 0 && batch->entities[index].flags & TACHO_VOLATILE;
}

int32_t batch_entity(struct tacho_batch *batch, const char *kind, const char *key, int32_t parent,
                     uint32_t flags)
{
    int32_t index = (int32_t)batch->entity_count;
    if (batch->truncated ||
        !grow((void **)&batch->entities, batch->entity_count, &batch->entity_size,
              BATCH_ENTITY_LIMIT, sizeof *batch->entities)) {
        batch->truncated = true;
        return -1;
    }
    if (parent < 0 || parent >= index) {
        parent = -1;
    }
    /* The schema cannot name a parent that comes and goes. */
    flags |= is_volatile(batch, parent) ? TACHO_VOLATILE : 0;
    const char *kind_copy = copy_name(batch, flags, kind);
    const char *key_copy = copy_name(batch, flags, key);
    if (!kind_copy || !key_copy) {
        batch->truncated = true;
        return -1;
    }
    batch->mixed |= !(flags & TACHO_VOLATILE) && is_volatile(batch, index - 1);
    memset(batch->has_metric, 0, sizeof batch->has_metric);
    batch->entities[index] = (struct tacho_entity){.kind = kind_copy,
                                                   .key = key_copy,
                                                   .parent = parent,
                                                   .flags = flags,
                                                   .labels = (void *)(uintptr_t)batch->label_count,
                                                   .values = (void *)(uintptr_t)batch->value_count};
    batch->entity_count++;
    return index;
}

/* The entity that labels and values go to, or NULL when there is none. */
static struct tacho_entity *current(struct tacho_batch *batch)
{
    return batch->entity_count && !batch->truncated ? &batch->entities[batch->entity_count - 1]
                                                    : NULL;
}

static bool has_label(const struct tacho_batch *batch, const struct tacho_entity *entity,
                      const char *name)
{
    for (uint32_t i = 0; i < entity->label_count; i++) {
        if (strcmp(batch->labels[(uintptr_t)entity->labels + i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

void batch_label(struct tacho_batch *batch, const char *name, const char *value)
{
    struct tacho_entity *entity = current(batch);
    char clean[BATCH_LABEL_LIMIT + 1];
    utf8_clean(name, strlen(name), clean, sizeof clean);
    if (!entity || has_label(batch, entity, clean)) {
        return;
    }
    if (!grow((void **)&batch->labels, batch->label_count, &batch->label_size, BATCH_VALUE_LIMIT,
              sizeof *batch->labels)) {
        batch->truncated = true;
        return;
    }
    struct tacho_label label = {.name = copy_name(batch, entity->flags, clean),
                                .value = copy_name(batch, entity->flags, value)};
    if (!label.name || !label.value) {
        batch->truncated = true;
        return;
    }
    batch->labels[batch->label_count++] = label;
    entity->label_count++;
}

/* Where the entity opened last has this metric already, or NULL. A bit for each metric that it has
 * saves the search; metrics whose numbers differ by 1024 share one. */
static struct tacho_value *same_metric(struct tacho_batch *batch, const struct tacho_entity *entity,
                                       uint32_t metric)
{
    uint64_t *word = &batch->has_metric[metric / 64 % BATCH_METRIC_WORDS];
    uint64_t bit = UINT64_C(1) << metric % 64;
    if (!(*word & bit)) {
        *word |= bit;
        return NULL;
    }
    struct tacho_value *values = batch->values + (uintptr_t)entity->values;
    for (uint32_t i = 0; i < entity->value_count; i++) {
        if (values[i].metric == metric) {
            return &values[i];
        }
    }
    return NULL;
}

static void make_absent(struct tacho_value *value, uint8_t reason)
{
    bool known = reason >= TACHO_ABSENT_UNSUPPORTED && reason <= TACHO_ABSENT_ERROR;
    value->type = TACHO_VALUE_ABSENT;
    value->reason = known ? reason : TACHO_ABSENT_ERROR;
    value->as.i64 = 0;
}

/* Whether a number is a set of flags is the metric's to say, so that every reader agrees. */
static void make_fit(struct tacho_value *value, const struct metric *metric)
{
    if (value->type == TACHO_VALUE_ABSENT) {
        make_absent(value, value->reason);
    } else if (value->type == TACHO_VALUE_F64 && !isfinite(value->as.f64)) {
        make_absent(value, TACHO_ABSENT_ERROR);
    } else if (value->type == TACHO_VALUE_FLAGS && !metric->desc.flags) {
        value->type = TACHO_VALUE_I64;
    } else if (value->type == TACHO_VALUE_I64 && metric->desc.flags) {
        value->type = TACHO_VALUE_FLAGS;
    }
}

void batch_value(struct tacho_batch *batch, const struct tacho_value *value)
{
    struct tacho_entity *entity = current(batch);
    const struct metric *metric = metric_get(value->metric);
    if (!entity || !metric) {
        return;
    }
    struct tacho_value *place = same_metric(batch, entity, value->metric);
    if (!place) {
        if (!grow((void **)&batch->values, batch->value_count, &batch->value_size,
                  BATCH_VALUE_LIMIT, sizeof *batch->values)) {
            batch->truncated = true;
            return;
        }
        place = &batch->values[batch->value_count++];
        entity->value_count++;
    }
    *place = *value;
    make_fit(place, metric);
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
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_F64, .as.f64 = number});
}

void batch_i64(struct tacho_batch *batch, int32_t metric, int64_t number)
{
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_I64, .as.i64 = number});
}

void batch_text(struct tacho_batch *batch, int32_t metric, const char *text)
{
    const char *copy = copy_text(&batch->texts, text);
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
    double *members[] = {&copy->min, &copy->max, &copy->mean, &copy->stddev,  &copy->p50,
                         &copy->p90, &copy->p95, &copy->p99,  &copy->integral};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        *members[i] = isfinite(*members[i]) ? *members[i] : NAN;
    }
    put(batch, metric, &(struct tacho_value){.type = TACHO_VALUE_SUMMARY, .as.summary = copy});
}

void batch_absent(struct tacho_batch *batch, int32_t metric, int reason)
{
    bool fits = reason > 0 && reason <= UINT8_MAX;
    put(batch, metric,
        &(struct tacho_value){.type = TACHO_VALUE_ABSENT,
                              .reason = fits ? (uint8_t)reason : TACHO_ABSENT_ERROR});
}

static void put_event_text(struct tacho_batch *batch, const char *name, const char *text)
{
    const struct metric *metric = metric_find(name);
    const char *copy = copy_text(&batch->texts, text);
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
    const char *fleet_copy = copy_text(&batch->texts, fleet);
    const char *host_copy = copy_text(&batch->texts, host);
    const char *source_copy = copy_text(&batch->texts, source);
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
