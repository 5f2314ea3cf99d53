/* SPDX-License-Identifier: MIT */
/* Readings: recorded by a worker, written into a batch by the collecting thread; see reading.h. */
#include "plugins/nvml/reading.h"

#include <stdlib.h>
#include <string.h>

enum op {
    OP_ENTITY,
    OP_LABEL,
    OP_FACTS, /* flags: on or off */
    OP_F64,
    OP_I64,
    OP_TEXT,
    OP_FLAGS,
    OP_SUMMARY,
    OP_ABSENT,
};

struct reading_item {
    uint8_t op;
    uint8_t reason;
    int16_t metric;
    int32_t parent;
    uint32_t at;      /* of a text or summary in bytes */
    const char *name; /* kind or label */
    union {
        double f64;
        int64_t i64;
        uint64_t flags;
    } as;
};

void reading_reset(struct reading *reading)
{
    reading->count = 0;
    reading->used = 0;
    reading->entities = 0;
    reading->cut = false;
}

void reading_fini(struct reading *reading)
{
    free(reading->items);
    free(reading->bytes);
    memset(reading, 0, sizeof *reading);
}

void reading_swap(struct reading *a, struct reading *b)
{
    struct reading kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- recording ------------------------------------------------------------------------------- */

/* An item to be filled, or NULL without memory. */
static struct reading_item *add(struct reading *reading, enum op op, int32_t metric)
{
    if (reading->count == reading->size) {
        uint32_t size = reading->size ? reading->size * 2 : 128;
        struct reading_item *items = realloc(reading->items, size * sizeof *items);
        if (!items) {
            reading->cut = true;
            return NULL;
        }
        reading->items = items;
        reading->size = size;
    }
    struct reading_item *item = &reading->items[reading->count++];
    *item = (struct reading_item){.op = (uint8_t)op, .metric = (int16_t)metric, .parent = -1};
    return item;
}

/* Copies bytes to the end, at a place that any type may have; false without memory. */
static bool keep(struct reading *reading, const void *data, size_t length, uint32_t *out_at)
{
    uint32_t at = (reading->used + 7u) & ~7u;
    if (length > UINT16_MAX) {
        reading->cut = true;
        return false;
    }
    if (at + length > reading->bytes_size) {
        uint32_t size = (at + (uint32_t)length) * 2 + 512;
        char *bytes = realloc(reading->bytes, size);
        if (!bytes) {
            reading->cut = true;
            return false;
        }
        reading->bytes = bytes;
        reading->bytes_size = size;
    }
    memcpy(reading->bytes + at, data, length);
    reading->used = at + (uint32_t)length;
    *out_at = at;
    return true;
}

static struct reading_item *add_text(struct reading *reading, enum op op, int32_t metric,
                                     const char *text)
{
    uint32_t at;
    if (!keep(reading, text, strlen(text) + 1, &at)) {
        return NULL;
    }
    struct reading_item *item = add(reading, op, metric);
    if (item) {
        item->at = at;
    }
    return item;
}

int32_t reading_entity(struct reading *reading, const char *kind, const char *key, int32_t parent)
{
    struct reading_item *item = add_text(reading, OP_ENTITY, -1, key);
    if (!item) {
        return -1;
    }
    item->name = kind;
    item->parent = parent;
    return (int32_t)reading->entities++;
}

void reading_label(struct reading *reading, const char *name, const char *value)
{
    struct reading_item *item = add_text(reading, OP_LABEL, -1, value);
    if (item) {
        item->name = name;
    }
}

void reading_f64(struct reading *reading, int32_t metric, double value)
{
    struct reading_item *item = add(reading, OP_F64, metric);
    if (item) {
        item->as.f64 = value;
    }
}

void reading_i64(struct reading *reading, int32_t metric, int64_t value)
{
    struct reading_item *item = add(reading, OP_I64, metric);
    if (item) {
        item->as.i64 = value;
    }
}

void reading_text(struct reading *reading, int32_t metric, const char *value)
{
    (void)add_text(reading, OP_TEXT, metric, value);
}

void reading_flags(struct reading *reading, int32_t metric, uint64_t bits)
{
    struct reading_item *item = add(reading, OP_FLAGS, metric);
    if (item) {
        item->as.flags = bits;
    }
}

void reading_summary(struct reading *reading, int32_t metric, const struct tacho_summary *value)
{
    uint32_t at;
    if (keep(reading, value, sizeof *value, &at)) {
        struct reading_item *item = add(reading, OP_SUMMARY, metric);
        if (item) {
            item->at = at;
        }
    }
}

void reading_absent(struct reading *reading, int32_t metric, int reason)
{
    struct reading_item *item = add(reading, OP_ABSENT, metric);
    if (item) {
        item->reason = (uint8_t)reason;
    }
}

void reading_facts(struct reading *reading, bool facts)
{
    struct reading_item *item = add(reading, OP_FACTS, -1);
    if (item) {
        item->as.flags = facts;
    }
}

void reading_append(struct reading *reading, const struct reading *values)
{
    uint32_t base = 0;
    if (values->used > 0 && !keep(reading, values->bytes, values->used, &base)) {
        return;
    }
    for (uint32_t i = 0; i < values->count; i++) {
        struct reading_item *item = add(reading, OP_ABSENT, -1);
        if (item) {
            *item = values->items[i];
            item->at += base;
        }
    }
}

/* ---- reading back ---------------------------------------------------------------------------- */

static bool is_value(const struct reading_item *item)
{
    return item->op != OP_ENTITY && item->op != OP_LABEL && item->op != OP_FACTS;
}

bool reading_has(const struct reading *reading, int32_t metric)
{
    for (uint32_t i = 0; i < reading->count; i++) {
        if (is_value(&reading->items[i]) && reading->items[i].metric == metric) {
            return true;
        }
    }
    return false;
}

static void write_value(const struct reading *reading, const struct reading_item *item,
                        const struct tacho_host *host, struct tacho_batch *batch)
{
    const char *bytes = reading->bytes + item->at;
    struct tacho_summary summary;
    switch ((enum op)item->op) {
    case OP_F64: host->f64(batch, item->metric, item->as.f64); break;
    case OP_I64: host->i64(batch, item->metric, item->as.i64); break;
    case OP_TEXT: host->text(batch, item->metric, bytes); break;
    case OP_FLAGS: host->flags(batch, item->metric, item->as.flags); break;
    case OP_SUMMARY:
        memcpy(&summary, bytes, sizeof summary);
        host->summary(batch, item->metric, &summary);
        break;
    case OP_ABSENT: host->absent(batch, item->metric, item->reason); break;
    case OP_ENTITY:
    case OP_LABEL:
    case OP_FACTS: break;
    }
}

uint32_t reading_write(const struct reading *reading, uint32_t at, int reason,
                       const struct tacho_host *host, struct tacho_batch *batch, int32_t *first)
{
    const struct reading_item *item = &reading->items[at];
    int32_t parent = item->parent < 0 ? -1 : *first + item->parent;
    int32_t index = host->entity(batch, item->name, reading->bytes + item->at, parent, 0);
    bool facts = false;
    if (at == 0) {
        *first = index;
    }
    for (at++; at < reading->count && reading->items[at].op != OP_ENTITY; at++) {
        item = &reading->items[at];
        if (item->op == OP_LABEL) {
            host->label(batch, item->name, reading->bytes + item->at);
        } else if (item->op == OP_FACTS) {
            facts = item->as.flags != 0;
        } else if (reason && !facts) {
            host->absent(batch, item->metric, reason);
        } else {
            write_value(reading, item, host, batch);
        }
    }
    return at;
}
