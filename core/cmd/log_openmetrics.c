/* SPDX-License-Identifier: MIT */
/*
 * A log as OpenMetrics with the time of each sample. A family has to stand together, and in it each
 * series, which no log does: so the log is read once to learn which metrics it has, then once for
 * each of them, and only the samples of that one are held in memory. Absent values and summaries
 * are left out: the format has no place for the first, and no time inside of the second.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/log.h"
#include "core/encode_number.h"
#include "core/encode_openmetrics.h"
#include "core/metric.h"

enum { SERIES_BYTES = 256 << 20 }; /* of one series, as text */

struct series {
    uint64_t hash;
    int64_t last_ms;
    struct buf lines;
};

struct page {
    const struct log_arguments *arguments;
    bool *has; /* for each metric id */
    const struct metric *metric;
    struct family family;
    struct series *series; /* open addressing by hash; a power of two */
    size_t count, size;
    struct buf labels;
    bool failed;
};

static bool note_metrics(void *context, const struct tacho_batch *batch)
{
    struct page *page = context;
    for (uint32_t i = 0; i < batch->entity_count && !(batch->flags & TACHO_EVENT); i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        for (uint32_t j = 0; j < entity->value_count; j++) {
            uint8_t type = entity->values[j].type;
            if (type != TACHO_VALUE_ABSENT && type != TACHO_VALUE_SUMMARY) {
                page->has[entity->values[j].metric] = true;
            }
        }
    }
    return true;
}

/* ---- series ---------------------------------------------------------------------------------- */

static struct series *place_of(struct series *series, size_t size, uint64_t hash)
{
    size_t at = hash & (size - 1);
    while (series[at].hash && series[at].hash != hash) {
        at = (at + 1) & (size - 1);
    }
    return &series[at];
}

static bool grow(struct page *page)
{
    size_t size = page->size ? page->size * 2 : 64;
    struct series *series = calloc(size, sizeof *series);
    if (!series) {
        return false;
    }
    for (size_t i = 0; i < page->size; i++) {
        if (page->series[i].hash) {
            *place_of(series, size, page->series[i].hash) = page->series[i];
        }
    }
    free(page->series);
    page->series = series;
    page->size = size;
    return true;
}

static struct series *find_series(struct page *page, uint64_t hash)
{
    if (page->count * 2 >= page->size && !grow(page)) {
        return NULL;
    }
    struct series *series = place_of(page->series, page->size, hash + (hash == 0));
    if (!series->hash) {
        *series = (struct series){.hash = hash + (hash == 0), .last_ms = INT64_MIN};
        buf_init(&series->lines, SERIES_BYTES);
        page->count++;
    }
    return series;
}

/* One line: name, labels, perhaps one label more, number, time. A series goes forward in time; what
 * does not was seen twice. */
static void add_sample(struct page *page, const struct label_set *set, const char *extra,
                       const char *text, const struct tacho_value *value, int64_t wall_ns)
{
    uint64_t hash = text ? XXH3_64bits_withSeed(text, strlen(text), set->hash) : set->hash;
    struct series *series = find_series(page, hash);
    int64_t ms = wall_ns / NS_PER_MS;
    if (!series || ms <= series->last_ms) {
        page->failed |= !series;
        return;
    }
    struct buf *out = &series->lines;
    series->last_ms = ms;
    buf_put(out, page->family.name, page->family.length);
    buf_puts(out, page->family.type == FAMILY_COUNTER ? "_total{" : "{");
    buf_put(out, page->labels.data + set->at, set->length);
    if (text) {
        buf_printf(out, ",%s=\"", extra);
        label_put_value(out, text);
        buf_putc(out, '"');
    }
    buf_puts(out, "} ");
    if (text) {
        buf_puts(out, value && value->type == TACHO_VALUE_FLAGS ? "0" : "1");
    } else if (value->type == TACHO_VALUE_I64 && !page->family.ratio) {
        encode_i64(out, value->as.i64);
    } else {
        double number = value->type == TACHO_VALUE_I64 ? (double)value->as.i64 : value->as.f64;
        if (page->family.ratio) {
            encode_ratio(out, number);
        } else {
            encode_f64(out, number);
        }
    }
    buf_printf(out, " %" PRId64 ".%03d\n", ms / 1000, (int)(ms % 1000));
    page->failed |= out->failed;
}

static void add_flags(struct page *page, const struct label_set *set,
                      const struct tacho_value *value, int64_t wall_ns)
{
    for (uint32_t i = 0; i < page->metric->flag_count && i < 64; i++) {
        bool is_set = value->as.flags >> i & 1;
        add_sample(page, set, "flag", page->metric->flag_names[i], is_set ? NULL : value, wall_ns);
    }
}

static void add_value(struct page *page, const struct label_set *set,
                      const struct tacho_value *value, int64_t wall_ns)
{
    bool number = value->type == TACHO_VALUE_F64 || value->type == TACHO_VALUE_I64;
    bool plain = page->family.type == FAMILY_GAUGE || page->family.type == FAMILY_COUNTER;
    if (plain && number) {
        add_sample(page, set, NULL, NULL, value, wall_ns);
    } else if (page->family.type == FAMILY_INFO && value->type == TACHO_VALUE_TEXT) {
        add_sample(page, set, "value", value->as.text, value, wall_ns);
    } else if (page->family.type == FAMILY_FLAGS && value->type == TACHO_VALUE_FLAGS) {
        add_flags(page, set, value, wall_ns);
    }
}

static bool add_batch(void *context, const struct tacho_batch *batch)
{
    struct page *page = context;
    for (uint32_t i = 0; i < batch->entity_count && !(batch->flags & TACHO_EVENT); i++) {
        const struct tacho_value *value = batch_find(batch, i, page->metric->id);
        if (value) {
            buf_reset(&page->labels);
            struct label_set set = label_set_put(batch, i, &page->labels);
            add_value(page, &set, value, batch->wall_ns);
        }
    }
    return !page->failed;
}

static void write_family(struct page *page, FILE *out)
{
    struct buf head;
    buf_init(&head, 64u << 10);
    family_put_head(&page->family, &head);
    if (page->count && !head.failed) {
        fwrite(head.data, 1, head.length, out);
    }
    for (size_t i = 0; i < page->size; i++) {
        if (page->series[i].hash) {
            fwrite(page->series[i].lines.data, 1, page->series[i].lines.length, out);
            buf_fini(&page->series[i].lines);
        }
    }
    free(page->series);
    page->series = NULL;
    page->count = page->size = 0;
    buf_fini(&head);
}

int log_export_openmetrics(const struct log_arguments *arguments, const char *command, FILE *out)
{
    struct page page = {.arguments = arguments};
    page.has = calloc(METRIC_LIMIT, sizeof *page.has);
    buf_init(&page.labels, 1u << 20);
    if (!page.has) {
        return CMD_NO;
    }
    int status = log_each_batch(arguments, command, note_metrics, &page);
    for (uint32_t id = 0; status == CMD_OK && id < metric_count() && id < METRIC_LIMIT; id++) {
        if (page.has[id] && log_wants(arguments, id)) {
            page.metric = metric_get(id);
            family_of_metric(page.metric, &page.family);
            status = log_each_batch(arguments, command, add_batch, &page);
            write_family(&page, out);
        }
    }
    if (page.failed) {
        fprintf(stderr, "tacho log %s: too much for memory; take a shorter time\n", command);
        status = CMD_NO;
    }
    fputs("# EOF\n", out);
    buf_fini(&page.labels);
    free(page.has);
    return status;
}
