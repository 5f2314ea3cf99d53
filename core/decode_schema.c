/* SPDX-License-Identifier: MIT */
/*
 * Schemas from MessagePack, checked and kept; see decode_schema.h. Everything is read and checked
 * before the first metric is registered, so that bad bytes leave nothing behind.
 */
#include "core/decode_schema.h"

#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/metric.h"

enum { FORMAT = 1 };
#define ARENA_LIMIT (32u << 20)

/* What is needed only while a schema is being read. */
struct parse {
    struct unpack unpack;
    struct schema *schema;
    struct tacho_metric *metrics;
    struct schema_column *known; /* of each metric, once registered */
    uint32_t metric_count;
    uint64_t value_count;
    unsigned seen; /* keys, one bit each */
};

static bool no_memory(struct parse *parse)
{
    return unpack_fail(&parse->unpack, "it needs more memory than a schema may take");
}

static bool get_text(struct parse *parse, const char **out)
{
    const char *data;
    uint32_t length;
    if (!unpack_text(&parse->unpack, &data, &length)) {
        return false;
    }
    *out = arena_text_of(&parse->schema->arena, data, length);
    return *out || no_memory(parse);
}

/* Reads an array's count and makes room for that many items, zeroed. */
static bool get_array(struct parse *parse, uint32_t limit, size_t item, uint32_t *out_count,
                      void **out)
{
    uint32_t count;
    if (!unpack_array(&parse->unpack, &count)) {
        return false;
    }
    if (count > limit) {
        return unpack_fail(&parse->unpack, "an array is longer than tacho allows");
    }
    if (*out) {
        return unpack_fail(&parse->unpack, "a key comes twice");
    }
    *out = arena_alloc(&parse->schema->arena, count * item);
    if (!*out) {
        return no_memory(parse);
    }
    memset(*out, 0, count * item);
    *out_count = count;
    return true;
}

static bool expect_array(struct parse *parse, uint32_t length)
{
    uint32_t count;
    return unpack_array(&parse->unpack, &count) &&
           (count == length || unpack_fail(&parse->unpack, "an array has the wrong length"));
}

static bool get_metric(struct parse *parse, struct tacho_metric *metric)
{
    const char *kind;
    struct unpack_item flags;
    if (!expect_array(parse, 5) || !get_text(parse, &metric->name) ||
        !get_text(parse, &metric->unit) || !get_text(parse, &kind) ||
        !unpack_next(&parse->unpack, &flags)) {
        return false;
    }
    metric->kind = metric_parse_kind(kind);
    if (flags.type != UNPACK_NIL) {
        if (!unpack_text_ok(&parse->unpack, &flags)) {
            return false;
        }
        metric->flags = arena_text_of(&parse->schema->arena, flags.as.data, flags.length);
        if (!metric->flags) {
            return no_memory(parse);
        }
    }
    return get_text(parse, &metric->help);
}

static bool get_metrics(struct parse *parse)
{
    if (!get_array(parse, METRIC_LIMIT, sizeof *parse->metrics, &parse->metric_count,
                   (void **)&parse->metrics)) {
        return false;
    }
    for (uint32_t i = 0; i < parse->metric_count; i++) {
        if (!get_metric(parse, &parse->metrics[i])) {
            return false;
        }
    }
    return true;
}

/* Leaves the metric's number in the schema where its id will be. */
static bool get_columns(struct parse *parse, struct schema_entity *entity)
{
    if (!get_array(parse, METRIC_LIMIT, sizeof *entity->columns, &entity->column_count,
                   (void **)&entity->columns)) {
        return false;
    }
    for (uint32_t i = 0; i < entity->column_count; i++) {
        uint64_t number;
        if (!unpack_uint(&parse->unpack, METRIC_LIMIT, &number)) {
            return false;
        }
        entity->columns[i].metric = (uint32_t)number;
    }
    parse->value_count += entity->column_count;
    return parse->value_count <= BATCH_VALUE_LIMIT ||
           unpack_fail(&parse->unpack, "it has too many values");
}

static bool get_labels(struct parse *parse, struct schema_entity *entity)
{
    if (!unpack_map(&parse->unpack, &entity->label_count)) {
        return false;
    }
    entity->labels =
        arena_alloc(&parse->schema->arena, entity->label_count * sizeof *entity->labels);
    if (!entity->labels) {
        return no_memory(parse);
    }
    for (uint32_t i = 0; i < entity->label_count; i++) {
        if (!get_text(parse, &entity->labels[i].name) ||
            !get_text(parse, &entity->labels[i].value)) {
            return false;
        }
    }
    return true;
}

static bool get_entities(struct parse *parse)
{
    struct schema *schema = parse->schema;
    if (!get_array(parse, BATCH_ENTITY_LIMIT, sizeof *schema->entities, &schema->entity_count,
                   (void **)&schema->entities)) {
        return false;
    }
    for (uint32_t i = 0; i < schema->entity_count; i++) {
        struct schema_entity *entity = &schema->entities[i];
        int64_t parent;
        if (!expect_array(parse, 5) || !get_text(parse, &entity->kind) ||
            !get_text(parse, &entity->key) || !unpack_int(&parse->unpack, &parent)) {
            return false;
        }
        if (parent < -1 || parent >= (int64_t)i) {
            return unpack_fail(&parse->unpack, "an entity's parent does not come before it");
        }
        entity->parent = (int32_t)parent;
        if (!get_labels(parse, entity) || !get_columns(parse, entity)) {
            return false;
        }
    }
    return true;
}

static bool get_shapes(struct parse *parse)
{
    struct schema *schema = parse->schema;
    if (!get_array(parse, BATCH_SHAPE_LIMIT, sizeof *schema->shapes, &schema->shape_count,
                   (void **)&schema->shapes)) {
        return false;
    }
    for (uint32_t i = 0; i < schema->shape_count; i++) {
        if (!expect_array(parse, 2) || !get_text(parse, &schema->shapes[i].kind) ||
            !get_columns(parse, &schema->shapes[i])) {
            return false;
        }
    }
    return true;
}

static bool get_format(struct parse *parse)
{
    uint64_t format;
    return unpack_uint(&parse->unpack, UINT64_MAX, &format) &&
           (format == FORMAT ||
            unpack_fail(&parse->unpack, "its format is one that this version does not know"));
}

static bool get_id(struct parse *parse)
{
    return unpack_uint(&parse->unpack, UINT64_MAX, &parse->schema->id) &&
           (parse->schema->id || unpack_fail(&parse->unpack, "its id is 0"));
}

static bool get_fleet(struct parse *parse)
{
    return get_text(parse, &parse->schema->fleet);
}

static bool get_host(struct parse *parse)
{
    return get_text(parse, &parse->schema->host);
}

static bool get_source(struct parse *parse)
{
    return get_text(parse, &parse->schema->source);
}

static const struct {
    const char *name;
    bool (*get)(struct parse *parse);
} keys[] = {
    {"format", get_format},     {"id", get_id},         {"fleet", get_fleet},
    {"host", get_host},         {"source", get_source}, {"metrics", get_metrics},
    {"entities", get_entities}, {"shapes", get_shapes},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static bool get_pair(struct parse *parse)
{
    const char *name;
    uint32_t length;
    if (!unpack_text(&parse->unpack, &name, &length)) {
        return false;
    }
    for (unsigned i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) == length && memcmp(keys[i].name, name, length) == 0) {
            parse->seen |= 1u << i;
            return keys[i].get(parse);
        }
    }
    return unpack_skip(&parse->unpack); /* A later version may say more. */
}

static bool get_schema(struct parse *parse)
{
    uint32_t pairs;
    if (!unpack_map(&parse->unpack, &pairs)) {
        return false;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        if (!get_pair(parse)) {
            return false;
        }
    }
    return unpack_end(&parse->unpack) &&
           (parse->seen == (1u << KEYS) - 1 || unpack_fail(&parse->unpack, "a key is missing"));
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Turns numbers of the schema into global ids; each at most once in an entity. `last` says for each
 * id the entity that had it last. */
static bool resolve(struct parse *parse, struct schema_entity *entity, uint32_t mark,
                    uint32_t *last)
{
    for (uint32_t i = 0; i < entity->column_count; i++) {
        uint32_t number = entity->columns[i].metric;
        if (number >= parse->metric_count) {
            return unpack_fail(&parse->unpack, "an entity names a metric that is not there");
        }
        entity->columns[i] = parse->known[number];
        if (last[entity->columns[i].metric] == mark) {
            return unpack_fail(&parse->unpack, "an entity has a metric twice");
        }
        last[entity->columns[i].metric] = mark;
    }
    return true;
}

static bool resolve_all(struct parse *parse)
{
    struct schema *schema = parse->schema;
    uint32_t *last = calloc(METRIC_LIMIT, sizeof *last);
    bool good = last || no_memory(parse);
    for (uint32_t i = 0; good && i < schema->entity_count; i++) {
        good = resolve(parse, &schema->entities[i], i + 1, last);
    }
    for (uint32_t i = 0; good && i < schema->shape_count; i++) {
        good = resolve(parse, &schema->shapes[i], schema->entity_count + i + 1, last);
    }
    free(last);
    return good;
}

static int register_metrics(struct parse *parse, struct tacho_err *err)
{
    parse->known = arena_alloc(&parse->schema->arena, parse->metric_count * sizeof *parse->known);
    if (!parse->known) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the metrics of a schema");
    }
    for (uint32_t i = 0; i < parse->metric_count; i++) {
        int result = metric_register(&parse->metrics[i], &parse->known[i].metric, err);
        if (result != TACHO_OK) {
            return result;
        }
        parse->known[i].flags = parse->metrics[i].flags != NULL;
    }
    return TACHO_OK;
}

void schema_free(struct schema *schema)
{
    if (schema) {
        arena_fini(&schema->arena);
        free(schema);
    }
}

struct schema *schema_new(const void *data, size_t length, struct tacho_err *err)
{
    struct parse parse = {.schema = calloc(1, sizeof *parse.schema)};
    if (!parse.schema) {
        tacho_fail(err, TACHO_RETRY, "no memory for a schema");
        return NULL;
    }
    arena_init(&parse.schema->arena, ARENA_LIMIT);
    unpack_init(&parse.unpack, data, length);
    bool good =
        get_schema(&parse) && register_metrics(&parse, err) == TACHO_OK && resolve_all(&parse);
    if (!good) {
        if (parse.unpack.problem) {
            tacho_fail(err, TACHO_RETRY, "schema of %zu bytes, at byte %zu: %s", length,
                       (size_t)(parse.unpack.at - parse.unpack.begin), parse.unpack.problem);
        }
        schema_free(parse.schema);
        return NULL;
    }
    return parse.schema;
}
