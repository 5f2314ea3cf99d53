/* SPDX-License-Identifier: MIT */
/*
 * Rows of MessagePack back into batches; see decode.h and core/FORMATS.md. Schemas are read by
 * decode_schema.c and kept here. A batch costs no allocation beyond what its pool keeps.
 */
#include "core/decode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode_schema.h"

enum { FIELDS = 9, EXT_ABSENT = 1 };

struct tacho_decoder {
    struct batch_pool *pool;
    struct schema *schemas[DECODE_SCHEMAS];
    uint32_t count;
    size_t bytes; /* held by all schemas */
    uint64_t clock;
};

/* One batch being read. */
struct rows {
    struct unpack unpack;
    struct schema *schema;
    struct tacho_batch *batch;
    const uint8_t *types;
    uint32_t types_bytes, position;
};

struct tacho_decoder *decoder_new(struct batch_pool *pool)
{
    struct tacho_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder) {
        decoder->pool = pool;
    }
    return decoder;
}

void decoder_free(struct tacho_decoder *decoder)
{
    if (!decoder) {
        return;
    }
    for (uint32_t i = 0; i < decoder->count; i++) {
        schema_free(decoder->schemas[i]);
    }
    free(decoder);
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void forget(struct tacho_decoder *decoder, uint32_t index)
{
    decoder->bytes -= decoder->schemas[index]->arena.total;
    schema_free(decoder->schemas[index]);
    decoder->schemas[index] = decoder->schemas[--decoder->count];
}

static uint32_t used_longest_ago(const struct tacho_decoder *decoder)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < decoder->count; i++) {
        if (decoder->schemas[i]->used < decoder->schemas[oldest]->used) {
            oldest = i;
        }
    }
    return oldest;
}

static int32_t index_of(const struct tacho_decoder *decoder, uint64_t id)
{
    for (uint32_t i = 0; i < decoder->count; i++) {
        if (decoder->schemas[i]->id == id) {
            return (int32_t)i;
        }
    }
    return -1;
}

int decode_schema(struct tacho_decoder *decoder, const void *data, size_t length,
                  struct tacho_err *err)
{
    if (length > DECODE_SCHEMA_BYTES) {
        return tacho_fail(err, TACHO_RETRY, "schema of %zu bytes is over the %u that fit", length,
                          DECODE_SCHEMA_BYTES);
    }
    struct schema *schema = schema_new(data, length, err);
    if (!schema) {
        return TACHO_RETRY;
    }
    int32_t known = index_of(decoder, schema->id);
    if (known >= 0) {
        forget(decoder, (uint32_t)known);
    }
    decoder->bytes += schema->arena.total;
    while (decoder->count > 0 &&
           (decoder->count == DECODE_SCHEMAS || decoder->bytes > DECODE_BYTES)) {
        forget(decoder, used_longest_ago(decoder));
    }
    schema->used = ++decoder->clock;
    decoder->schemas[decoder->count++] = schema;
    return TACHO_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Whether the next value's form on the wire is the other one than it was measured in. */
static bool other_form(struct rows *rows)
{
    uint32_t position = rows->position++;
    return position / 8 < rows->types_bytes && rows->types[position / 8] >> position % 8 & 1;
}

static bool get_uint(const struct unpack_item *item, bool other, bool flags,
                     struct tacho_value *value)
{
    if (other) {
        value->type = TACHO_VALUE_F64;
        value->as.f64 = (double)item->as.number;
    } else if (flags) {
        value->type = TACHO_VALUE_FLAGS;
        value->as.flags = item->as.number;
    } else if (item->as.number <= INT64_MAX) {
        value->type = TACHO_VALUE_I64;
        value->as.i64 = (int64_t)item->as.number;
    } else {
        value->type = TACHO_VALUE_F64;
        value->as.f64 = (double)item->as.number;
    }
    return true;
}

static bool get_float(const struct unpack_item *item, bool other, struct tacho_value *value)
{
    double number = item->as.real;
    if (other && fabs(number) < 0x1p62 && number == trunc(number)) {
        value->type = TACHO_VALUE_I64;
        value->as.i64 = (int64_t)number;
    } else {
        value->type = TACHO_VALUE_F64;
        value->as.f64 = number;
    }
    return true;
}

static bool get_value_text(struct rows *rows, const struct unpack_item *item,
                           struct tacho_value *value)
{
    if (!unpack_text_ok(&rows->unpack, item)) {
        return false;
    }
    value->type = TACHO_VALUE_TEXT;
    value->as.text = arena_text_of(&rows->batch->texts, item->as.data, item->length);
    return value->as.text || unpack_fail(&rows->unpack, "its texts are too long");
}

static bool get_member(struct unpack *unpack, double *out)
{
    struct unpack_item item;
    if (!unpack_next(unpack, &item)) {
        return false;
    }
    switch (item.type) {
    case UNPACK_NIL: *out = NAN; return true;
    case UNPACK_UINT: *out = (double)item.as.number; return true;
    case UNPACK_NEG: *out = (double)item.as.integer; return true;
    case UNPACK_FLOAT: *out = isfinite(item.as.real) ? item.as.real : NAN; return true;
    default: return unpack_fail(unpack, "a summary holds something else than numbers");
    }
}

static bool get_summary(struct rows *rows, uint32_t length, struct tacho_value *value)
{
    struct tacho_summary *summary = arena_alloc(&rows->batch->texts, sizeof *summary);
    if (!summary || length != 10) {
        return unpack_fail(&rows->unpack, "a summary does not have 10 members");
    }
    double *members[] = {&summary->min,    &summary->max, &summary->mean,
                         &summary->stddev, &summary->p50, &summary->p90,
                         &summary->p95,    &summary->p99, &summary->integral};
    if (!unpack_uint(&rows->unpack, UINT64_MAX, &summary->count)) {
        return false;
    }
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!get_member(&rows->unpack, members[i])) {
            return false;
        }
    }
    value->type = TACHO_VALUE_SUMMARY;
    value->as.summary = summary;
    return true;
}

static bool get_ext(struct rows *rows, const struct unpack_item *item, struct tacho_value *value)
{
    if (item->ext != EXT_ABSENT || item->length != 1) {
        return unpack_fail(&rows->unpack, "a value has an unknown extension type");
    }
    value->type = TACHO_VALUE_ABSENT;
    value->reason = (uint8_t)item->as.data[0];
    return true;
}

static bool get_value(struct rows *rows, const struct schema_column *column)
{
    struct tacho_value value = {.metric = column->metric};
    struct unpack_item item;
    bool other = other_form(rows);
    bool good;
    if (!unpack_next(&rows->unpack, &item)) {
        return false;
    }
    switch (item.type) {
    case UNPACK_UINT: good = get_uint(&item, other, column->flags, &value); break;
    case UNPACK_NEG:
        value.type = other ? TACHO_VALUE_F64 : TACHO_VALUE_I64;
        if (other) {
            value.as.f64 = (double)item.as.integer;
        } else {
            value.as.i64 = item.as.integer;
        }
        good = true;
        break;
    case UNPACK_FLOAT: good = get_float(&item, other, &value); break;
    case UNPACK_STR: good = get_value_text(rows, &item, &value); break;
    case UNPACK_EXT: good = get_ext(rows, &item, &value); break;
    case UNPACK_ARRAY: good = get_summary(rows, item.length, &value); break;
    default: good = unpack_fail(&rows->unpack, "a value has no type of a value"); break;
    }
    if (good) {
        batch_value(rows->batch, &value);
    }
    return good;
}

static bool get_values(struct rows *rows, const struct schema_entity *entity)
{
    for (uint32_t i = 0; i < entity->column_count; i++) {
        if (!get_value(rows, &entity->columns[i])) {
            return false;
        }
    }
    return true;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool get_rows(struct rows *rows)
{
    const struct schema *schema = rows->schema;
    uint32_t count;
    if (!unpack_array(&rows->unpack, &count)) {
        return false;
    }
    if (count != schema->entity_count) {
        return unpack_fail(&rows->unpack, "its rows are not as many as the schema's entities");
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct schema_entity *entity = &schema->entities[i];
        uint32_t length;
        batch_entity(rows->batch, entity->kind, entity->key, entity->parent, 0);
        for (uint32_t j = 0; j < entity->label_count; j++) {
            batch_label(rows->batch, entity->labels[j].name, entity->labels[j].value);
        }
        if (!unpack_array(&rows->unpack, &length)) {
            return false;
        }
        if (length != entity->column_count) {
            return unpack_fail(&rows->unpack, "a row is not as long as the schema says");
        }
        if (!get_values(rows, entity)) {
            return false;
        }
    }
    return true;
}

/* Reads a text and gives it a NUL, in memory that lives as long as the batch. */
static bool get_text(struct rows *rows, const char **out)
{
    const char *data;
    uint32_t length;
    if (!unpack_text(&rows->unpack, &data, &length)) {
        return false;
    }
    *out = arena_text_of(&rows->batch->texts, data, length);
    return *out || unpack_fail(&rows->unpack, "its texts are too long");
}

static bool get_extra_labels(struct rows *rows)
{
    uint32_t pairs;
    const char *name, *value;
    if (!unpack_map(&rows->unpack, &pairs)) {
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        if (!get_text(rows, &name) || !get_text(rows, &value)) {
            return false;
        }
        batch_label(rows->batch, name, value);
    }
    return true;
}

static bool get_extra(struct rows *rows)
{
    uint32_t length;
    uint64_t shape;
    int64_t parent;
    const char *key;
    if (!unpack_array(&rows->unpack, &length) || !unpack_uint(&rows->unpack, UINT32_MAX, &shape) ||
        !get_text(rows, &key) || !unpack_int(&rows->unpack, &parent)) {
        return false;
    }
    if (shape >= rows->schema->shape_count || parent < -1 ||
        parent >= (int64_t)rows->batch->entity_count) {
        return unpack_fail(&rows->unpack, "an entity's shape or parent is not there");
    }
    const struct schema_entity *as = &rows->schema->shapes[shape];
    if ((uint64_t)length != 4 + (uint64_t)as->column_count) {
        return unpack_fail(&rows->unpack, "a row is not as long as its shape says");
    }
    batch_entity(rows->batch, as->kind, key, (int32_t)parent, TACHO_VOLATILE);
    return get_extra_labels(rows) && get_values(rows, as);
}

static bool get_extras(struct rows *rows)
{
    uint32_t count;
    if (!unpack_array(&rows->unpack, &count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!get_extra(rows)) {
            return false;
        }
    }
    return true;
}

/* ---- batches --------------------------------------------------------------------------------- */

static bool get_types(struct rows *rows)
{
    struct unpack_item item;
    if (!unpack_next(&rows->unpack, &item)) {
        return false;
    }
    rows->types = (const uint8_t *)item.as.data;
    rows->types_bytes = item.length;
    return item.type == UNPACK_BIN || unpack_fail(&rows->unpack, "the bits of types are missing");
}

/* Reads what follows the schema's id. */
static bool get_batch(struct rows *rows)
{
    struct unpack *unpack = &rows->unpack;
    const struct schema *schema = rows->schema;
    uint64_t session, seq, flags;
    int64_t wall_ns, duration_ns;
    if (!unpack_uint(unpack, UINT64_MAX, &session) || !unpack_uint(unpack, UINT64_MAX, &seq) ||
        !unpack_int(unpack, &wall_ns) || !unpack_int(unpack, &duration_ns) ||
        !unpack_uint(unpack, UINT32_MAX, &flags) || !get_types(rows)) {
        return false;
    }
    if (duration_ns < 0) {
        return unpack_fail(unpack, "its duration is negative");
    }
    batch_origin(rows->batch, schema->fleet, schema->host, schema->source, session, seq);
    batch_stamp(rows->batch, wall_ns, duration_ns);
    batch_mark(rows->batch, (uint32_t)flags);
    return get_rows(rows) && get_extras(rows);
}

/* Reads the rest of an array that a later version made longer. */
static bool get_tail(struct rows *rows, uint32_t count)
{
    for (uint32_t i = FIELDS; i < count; i++) {
        if (!unpack_skip(&rows->unpack)) {
            return false;
        }
    }
    return unpack_end(&rows->unpack) &&
           (!rows->batch->truncated ||
            unpack_fail(&rows->unpack, "it is larger than a batch may be"));
}

static int bad_batch(const struct rows *rows, size_t length, struct tacho_err *err)
{
    return tacho_fail(err, TACHO_RETRY, "batch of %zu bytes, at byte %zu: %s", length,
                      (size_t)(rows->unpack.at - rows->unpack.begin), rows->unpack.problem);
}

int decode_batch(struct tacho_decoder *decoder, const void *data, size_t length,
                 struct tacho_batch **out, struct tacho_err *err)
{
    struct rows rows = {.schema = NULL};
    uint32_t count;
    uint64_t id;
    unpack_init(&rows.unpack, data, length);
    if (!unpack_array(&rows.unpack, &count) || !unpack_uint(&rows.unpack, UINT64_MAX, &id)) {
        return bad_batch(&rows, length, err);
    }
    if (count < FIELDS) {
        unpack_fail(&rows.unpack, "it has fewer than 9 fields");
        return bad_batch(&rows, length, err);
    }
    int32_t known = index_of(decoder, id);
    if (known < 0) {
        return tacho_fail(err, TACHO_NO_DATA, "schema %016llx has not been seen",
                          (unsigned long long)id);
    }
    rows.schema = decoder->schemas[known];
    rows.schema->used = ++decoder->clock;
    rows.batch = batch_new(decoder->pool);
    if (!rows.batch) {
        return tacho_fail(err, TACHO_RETRY, "no memory for a batch");
    }
    if (!get_batch(&rows) || !get_tail(&rows, count)) {
        batch_discard(rows.batch);
        return bad_batch(&rows, length, err);
    }
    *out = rows.batch;
    return TACHO_OK;
}
