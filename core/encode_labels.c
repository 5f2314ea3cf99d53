/* SPDX-License-Identifier: MIT */
/*
 * Label sets of OpenMetrics samples; see encode_openmetrics.h. Each is written once for an entity
 * and copied to all of its samples. A name that is there already is left out: the entity comes
 * before its parents, so the nearest wins.
 */
#include "core/encode_openmetrics.h"

#include <string.h>
#include <xxhash.h>

enum { LABELS = 64 }; /* in one set; more are left out */

struct labels {
    struct buf *out;
    size_t begin;
    uint32_t count;
    struct {
        size_t at, length;
    } names[LABELS];
    uint64_t hash;
};

void label_put_value(struct buf *out, const char *value)
{
    size_t plain;
    while (value[plain = strcspn(value, "\"\\\n")]) {
        buf_put(out, value, plain);
        buf_putc(out, '\\');
        buf_putc(out, value[plain] == '\n' ? 'n' : value[plain]);
        value += plain + 1;
    }
    buf_put(out, value, plain);
}

/* Names that samples themselves use. */
static bool is_reserved(const char *name)
{
    return strcmp(name, "value") == 0 || strcmp(name, "flag") == 0 ||
           strcmp(name, "quantile") == 0 || strcmp(name, "le") == 0;
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

/* Writes the name with underscores for what may not be in one; one that a sample or Prometheus
 * uses itself gets a prefix. */
static void put_name(struct buf *out, const char *name)
{
    if (is_reserved(name) || !is_letter(*name)) {
        buf_puts(out, is_letter(*name) ? "exported_" : "label_");
    }
    for (; *name; name++) {
        buf_putc(out, is_letter(*name) || (*name >= '0' && *name <= '9') ? *name : '_');
    }
}

static bool has_name(const struct labels *labels, size_t at, size_t length)
{
    for (uint32_t i = 0; i < labels->count; i++) {
        if (labels->names[i].length == length &&
            memcmp(labels->out->data + labels->names[i].at, labels->out->data + at, length) == 0) {
            return true;
        }
    }
    return false;
}

static void put_label(struct labels *labels, const char *name, const char *value)
{
    struct buf *out = labels->out;
    size_t before = out->length;
    if (labels->count > 0) {
        buf_putc(out, ',');
    }
    size_t at = out->length;
    put_name(out, name);
    size_t length = out->length - at;
    if (out->failed || labels->count == LABELS || has_name(labels, at, length)) {
        out->length = before;
        return;
    }
    labels->names[labels->count].at = at;
    labels->names[labels->count++].length = length;
    buf_puts(out, "=\"");
    label_put_value(out, value);
    buf_putc(out, '"');
    labels->hash += out->failed ? 0 : XXH3_64bits(out->data + at, out->length - at);
}

static bool is_gpu(const struct tacho_entity *entity)
{
    return strcmp(entity->kind, "gpu") == 0 || strcmp(entity->kind, "mig") == 0;
}

/* What names the entity among all others. */
static void put_identity(struct labels *labels, const struct tacho_entity *entity)
{
    if (strcmp(entity->kind, "host") == 0) {
        return;
    }
    if (!is_gpu(entity)) {
        put_label(labels, entity->kind, entity->key);
        return;
    }
    put_label(labels, "uuid", entity->key);
    for (uint32_t i = 0; i < entity->label_count; i++) {
        if (strcmp(entity->labels[i].name, "index") == 0) {
            put_label(labels, strcmp(entity->kind, "gpu") == 0 ? "gpu" : "mig",
                      entity->labels[i].value);
        }
    }
}

static void put_others(struct labels *labels, const struct tacho_entity *entity)
{
    bool skip_index = is_gpu(entity);
    for (uint32_t i = 0; i < entity->label_count; i++) {
        if (!skip_index || strcmp(entity->labels[i].name, "index") != 0) {
            put_label(labels, entity->labels[i].name, entity->labels[i].value);
        }
    }
}

struct label_set label_set_put(const struct tacho_batch *batch, uint32_t index, struct buf *out)
{
    struct labels labels;
    labels.out = out;
    labels.begin = out->length;
    labels.count = 0;
    labels.hash = 0;
    const struct tacho_entity *entity = &batch->entities[index];
    put_label(&labels, "host", batch->host);
    put_identity(&labels, entity);
    put_others(&labels, entity);
    for (int32_t up = entity->parent; up >= 0; up = batch->entities[up].parent) {
        put_identity(&labels, &batch->entities[up]);
    }
    put_label(&labels, "source", batch->source);
    if (*batch->fleet) {
        put_label(&labels, "fleet", batch->fleet);
    }
    if (batch->flags & TACHO_SIMULATED) {
        put_label(&labels, "simulated", "true");
    }
    return (struct label_set){
        .at = labels.begin, .length = out->length - labels.begin, .hash = labels.hash};
}
