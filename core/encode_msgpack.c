/* SPDX-License-Identifier: MIT */
/*
 * Batches as MessagePack: rows, and the schema that says what they mean; see core/FORMATS.md. The
 * rows carry nothing but values: 8 GPUs with 24 fields each stay below 800 bytes. A number goes in
 * the smallest form that reads back the same, and one bit for each value keeps apart what was
 * measured as an integer and what as a float.
 */
#include "core/encode.h"

#include <math.h>
#include <msgpack/pack.h>
#include <stdlib.h>

#include "core/metric.h"

enum { EXT_ABSENT = 1, SCHEMA_FORMAT = 1 };

struct rows {
    msgpack_packer packer;
    struct buf *out;
    size_t types_at;   /* where in out the bits begin */
    uint32_t position; /* of the next value among all of the batch */
};

static int write_out(void *out, const char *data, size_t length)
{
    buf_put(out, data, length);
    return 0;
}

static void pack_text(msgpack_packer *packer, const char *text)
{
    msgpack_pack_str_with_body(packer, text, strlen(text));
}

/* Returns whether the number went as an integer: when that takes no more room than a float. */
static bool pack_f64(msgpack_packer *packer, double number)
{
    if (number >= INT32_MIN && number <= UINT32_MAX) {
        int64_t whole = (int64_t)number;
        if ((double)whole == number && (whole != 0 || !signbit(number))) {
            msgpack_pack_int64(packer, whole);
            return true;
        }
    }
    if ((double)(float)number == number) {
        msgpack_pack_float(packer, (float)number);
    } else {
        msgpack_pack_double(packer, number);
    }
    return false;
}

/* Returns whether the number went as a float: memory sizes mostly fit one exactly, in 5 bytes. */
static bool pack_i64(msgpack_packer *packer, int64_t number)
{
    bool small = number >= INT32_MIN && number <= UINT32_MAX;
    bool safe = number > INT64_MIN / 2 && number < INT64_MAX / 2;
    if (!small && safe && (int64_t)(float)number == number) {
        msgpack_pack_float(packer, (float)number);
        return true;
    }
    msgpack_pack_int64(packer, number);
    return false;
}

static void pack_summary(msgpack_packer *packer, const struct tacho_summary *summary)
{
    const double members[] = {summary->min,    summary->max, summary->mean,
                              summary->stddev, summary->p50, summary->p90,
                              summary->p95,    summary->p99, summary->integral};
    msgpack_pack_array(packer, 10);
    msgpack_pack_uint64(packer, summary->count);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (isnan(members[i])) {
            msgpack_pack_nil(packer);
        } else {
            pack_f64(packer, members[i]);
        }
    }
}

static void pack_absent(msgpack_packer *packer, uint8_t reason)
{
    msgpack_pack_ext(packer, 1, EXT_ABSENT);
    msgpack_pack_ext_body(packer, &reason, 1);
}

static void pack_value(struct rows *rows, const struct tacho_value *value)
{
    bool other = false;
    switch (value->type) {
    case TACHO_VALUE_F64: other = pack_f64(&rows->packer, value->as.f64); break;
    case TACHO_VALUE_I64: other = pack_i64(&rows->packer, value->as.i64); break;
    case TACHO_VALUE_FLAGS: msgpack_pack_uint64(&rows->packer, value->as.flags); break;
    case TACHO_VALUE_TEXT: pack_text(&rows->packer, value->as.text); break;
    case TACHO_VALUE_SUMMARY: pack_summary(&rows->packer, value->as.summary); break;
    default: pack_absent(&rows->packer, value->reason); break;
    }
    if (other && !rows->out->failed) {
        rows->out->data[rows->types_at + rows->position / 8] |= (char)(1 << rows->position % 8);
    }
    rows->position++;
}

static void pack_values(struct rows *rows, const struct tacho_entity *entity)
{
    for (uint32_t i = 0; i < entity->value_count; i++) {
        pack_value(rows, &entity->values[i]);
    }
}

static void pack_labels(msgpack_packer *packer, const struct tacho_entity *entity)
{
    msgpack_pack_map(packer, entity->label_count);
    for (uint32_t i = 0; i < entity->label_count; i++) {
        pack_text(packer, entity->labels[i].name);
        pack_text(packer, entity->labels[i].value);
    }
}

/* Room for one bit for each value, all 0. */
static void pack_types(struct rows *rows, const struct tacho_batch *batch)
{
    size_t values = 0;
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        values += batch->entities[i].value_count;
    }
    size_t bytes = (values + 7) / 8;
    msgpack_pack_bin(&rows->packer, bytes);
    if (buf_reserve(rows->out, bytes + 1)) {
        rows->types_at = rows->out->length;
        memset(rows->out->data + rows->types_at, 0, bytes);
        rows->out->length += bytes;
    }
}

static void pack_extra(struct rows *rows, const struct tacho_batch *batch, uint32_t index)
{
    const struct tacho_entity *entity = &batch->entities[index];
    msgpack_pack_array(&rows->packer, 4 + (size_t)entity->value_count);
    msgpack_pack_uint32(&rows->packer, batch_shape_of(batch, index));
    pack_text(&rows->packer, entity->key);
    msgpack_pack_int32(&rows->packer, entity->parent);
    pack_labels(&rows->packer, entity);
    pack_values(rows, entity);
}

void encode_msgpack(const struct tacho_batch *batch, struct buf *out)
{
    struct rows rows = {.out = out};
    msgpack_packer *packer = &rows.packer;
    msgpack_packer_init(packer, out, write_out);
    msgpack_pack_array(packer, 9);
    msgpack_pack_fix_uint64(packer, batch->schema);
    msgpack_pack_uint64(packer, batch->session);
    msgpack_pack_uint64(packer, batch->seq);
    msgpack_pack_int64(packer, batch->wall_ns);
    msgpack_pack_int64(packer, batch->duration_ns);
    msgpack_pack_uint32(packer, batch->flags);
    pack_types(&rows, batch);
    msgpack_pack_array(packer, batch->stable_count);
    for (uint32_t i = 0; i < batch->stable_count; i++) {
        msgpack_pack_array(packer, batch->entities[i].value_count);
        pack_values(&rows, &batch->entities[i]);
    }
    msgpack_pack_array(packer, batch->entity_count - batch->stable_count);
    for (uint32_t i = batch->stable_count; i < batch->entity_count; i++) {
        pack_extra(&rows, batch, i);
    }
}

/* ---- schema ---------------------------------------------------------------------------------- */

/* The metrics of a batch, numbered in order of their first appearance. */
struct columns {
    uint16_t *number_of; /* metric id to number + 1 */
    uint32_t *ids;
    uint32_t count;
};

static void number_metrics(struct columns *columns, const struct tacho_entity *entity)
{
    for (uint32_t i = 0; i < entity->value_count; i++) {
        uint32_t id = entity->values[i].metric;
        if (!columns->number_of[id]) {
            columns->ids[columns->count++] = id;
            columns->number_of[id] = (uint16_t)columns->count;
        }
    }
}

static bool columns_init(struct columns *columns, const struct tacho_batch *batch)
{
    uint32_t known = metric_count();
    columns->count = 0;
    columns->number_of = calloc(known, sizeof *columns->number_of);
    columns->ids = calloc(known, sizeof *columns->ids);
    if (!columns->number_of || !columns->ids) {
        free(columns->number_of);
        free(columns->ids);
        return false;
    }
    for (uint32_t i = 0; i < batch->stable_count; i++) {
        number_metrics(columns, &batch->entities[i]);
    }
    for (uint32_t i = 0; i < batch->shape_count; i++) {
        number_metrics(columns, &batch->entities[batch->shapes[i].example]);
    }
    return true;
}

static void pack_columns(msgpack_packer *packer, const struct columns *columns,
                         const struct tacho_entity *entity)
{
    msgpack_pack_array(packer, entity->value_count);
    for (uint32_t i = 0; i < entity->value_count; i++) {
        msgpack_pack_uint32(packer, columns->number_of[entity->values[i].metric] - 1u);
    }
}

static void pack_metric(msgpack_packer *packer, const struct tacho_metric *desc)
{
    msgpack_pack_array(packer, 5);
    pack_text(packer, desc->name);
    pack_text(packer, desc->unit);
    pack_text(packer, metric_kind_name(desc->kind));
    if (desc->flags) {
        pack_text(packer, desc->flags);
    } else {
        msgpack_pack_nil(packer);
    }
    pack_text(packer, desc->help);
}

static void pack_entity(msgpack_packer *packer, const struct columns *columns,
                        const struct tacho_entity *entity)
{
    msgpack_pack_array(packer, 5);
    pack_text(packer, entity->kind);
    pack_text(packer, entity->key);
    msgpack_pack_int32(packer, entity->parent);
    pack_labels(packer, entity);
    pack_columns(packer, columns, entity);
}

static void pack_head(msgpack_packer *packer, const struct tacho_batch *batch)
{
    msgpack_pack_map(packer, 8);
    pack_text(packer, "format");
    msgpack_pack_uint32(packer, SCHEMA_FORMAT);
    pack_text(packer, "id");
    msgpack_pack_fix_uint64(packer, batch->schema);
    pack_text(packer, "fleet");
    pack_text(packer, batch->fleet);
    pack_text(packer, "host");
    pack_text(packer, batch->host);
    pack_text(packer, "source");
    pack_text(packer, batch->source);
}

static void pack_shapes(msgpack_packer *packer, const struct columns *columns,
                        const struct tacho_batch *batch)
{
    pack_text(packer, "shapes");
    msgpack_pack_array(packer, batch->shape_count);
    for (uint32_t i = 0; i < batch->shape_count; i++) {
        const struct tacho_entity *example = &batch->entities[batch->shapes[i].example];
        msgpack_pack_array(packer, 2);
        pack_text(packer, example->kind);
        pack_columns(packer, columns, example);
    }
}

void encode_schema(const struct tacho_batch *batch, struct buf *out)
{
    struct columns columns;
    if (!columns_init(&columns, batch)) {
        out->failed = true;
        return;
    }
    msgpack_packer packer;
    msgpack_packer_init(&packer, out, write_out);
    pack_head(&packer, batch);
    pack_text(&packer, "metrics");
    msgpack_pack_array(&packer, columns.count);
    for (uint32_t i = 0; i < columns.count; i++) {
        pack_metric(&packer, &metric_get(columns.ids[i])->desc);
    }
    pack_text(&packer, "entities");
    msgpack_pack_array(&packer, batch->stable_count);
    for (uint32_t i = 0; i < batch->stable_count; i++) {
        pack_entity(&packer, &columns, &batch->entities[i]);
    }
    pack_shapes(&packer, &columns, batch);
    free(columns.number_of);
    free(columns.ids);
}
