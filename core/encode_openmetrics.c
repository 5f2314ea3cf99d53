/* SPDX-License-Identifier: MIT */
/*
 * OpenMetrics pages; see core/FORMATS.md. The values of all batches are put in order of their
 * metrics by counting, so that a family stands together whatever batches it comes from, and each
 * entity's labels are written once and copied. Families whose names would clash and series that
 * come twice are left out: the first wins.
 */
#include "core/encode_openmetrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/encode.h"
#include "core/encode_number.h"

#define LABELS_LIMIT (64u << 20)

struct sample {
    const struct tacho_value *value;
    uint32_t set; /* which label set */
};

/* A table of hashes with open addressing; a power of two in size, never more than half full. */
struct hashes {
    uint64_t *slots;
    uint32_t *numbers;
    size_t mask;
};

struct page {
    struct buf *out;
    struct buf labels;
    struct label_set *sets; /* of each entity of each batch */
    uint32_t *first_alike;  /* the first set with the same labels */
    uint32_t *written;      /* for each set: the family that has it, counted from 1 */
    uint32_t set_count;
    struct sample *samples;
    uint32_t *begins; /* of each metric's samples; one more than there are metrics */
    uint32_t metric_count, sample_count;
    struct hashes alike, names;
    uint32_t round; /* the family being written */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static bool hashes_init(struct hashes *hashes, size_t entries)
{
    size_t size = 16;
    while (size < entries * 2) {
        size *= 2;
    }
    hashes->mask = size - 1;
    hashes->slots = calloc(size, sizeof *hashes->slots);
    hashes->numbers = calloc(size, sizeof *hashes->numbers);
    return hashes->slots && hashes->numbers;
}

/* The number kept for a hash; `number` when it is new. */
static uint32_t hashes_add(struct hashes *hashes, uint64_t hash, uint32_t number)
{
    hash += hash == 0;
    size_t at = hash & hashes->mask;
    while (hashes->slots[at] && hashes->slots[at] != hash) {
        at = (at + 1) & hashes->mask;
    }
    if (!hashes->slots[at]) {
        hashes->slots[at] = hash;
        hashes->numbers[at] = number;
    }
    return hashes->numbers[at];
}

static bool is_shown(const struct tacho_batch *batch)
{
    return !(batch->flags & TACHO_EVENT);
}

static void page_fini(struct page *page)
{
    buf_fini(&page->labels);
    free(page->sets);
    free(page->first_alike);
    free(page->written);
    free(page->samples);
    free(page->begins);
    free(page->alike.slots);
    free(page->alike.numbers);
    free(page->names.slots);
    free(page->names.numbers);
}

static bool page_init(struct page *page, const struct tacho_batch *const *batches, size_t count,
                      struct buf *out)
{
    *page = (struct page){.out = out, .metric_count = metric_count()};
    buf_init(&page->labels, LABELS_LIMIT);
    size_t entities = 0, values = 0;
    for (size_t i = 0; i < count; i++) {
        entities += is_shown(batches[i]) ? batches[i]->entity_count : 0;
        values += is_shown(batches[i]) ? batches[i]->value_count : 0;
    }
    size_t families = values < page->metric_count ? values : page->metric_count;
    page->sets = calloc(entities + 1, sizeof *page->sets);
    page->first_alike = calloc(entities + 1, sizeof *page->first_alike);
    page->written = calloc(entities + 1, sizeof *page->written);
    page->samples = calloc(values + 1, sizeof *page->samples);
    page->begins = calloc(page->metric_count + 1, sizeof *page->begins);
    return page->sets && page->first_alike && page->written && page->samples && page->begins &&
           hashes_init(&page->alike, entities) && hashes_init(&page->names, families * 12);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void count_values(struct page *page, const struct tacho_batch *batch)
{
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        for (uint32_t j = 0; j < entity->value_count; j++) {
            page->begins[entity->values[j].metric + 1]++;
        }
    }
}

/* Files the values of a batch under their metrics, and writes the labels of its entities. `next` is
 * where the next value of each metric goes. */
static void add_batch(struct page *page, const struct tacho_batch *batch, uint32_t *next)
{
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        uint32_t set = page->set_count++;
        page->sets[set] = label_set_put(batch, i, &page->labels);
        page->first_alike[set] = hashes_add(&page->alike, page->sets[set].hash, set);
        for (uint32_t j = 0; j < entity->value_count; j++) {
            page->samples[next[entity->values[j].metric]++] =
                (struct sample){.value = &entity->values[j], .set = set};
        }
    }
}

static bool page_collect(struct page *page, const struct tacho_batch *const *batches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_shown(batches[i])) {
            count_values(page, batches[i]);
        }
    }
    for (uint32_t i = 0; i < page->metric_count; i++) {
        page->begins[i + 1] += page->begins[i];
    }
    uint32_t *next = malloc((page->metric_count + 1) * sizeof *next);
    if (!next) {
        return false;
    }
    memcpy(next, page->begins, (page->metric_count + 1) * sizeof *next);
    for (size_t i = 0; i < count; i++) {
        if (is_shown(batches[i])) {
            add_batch(page, batches[i], next);
        }
    }
    free(next);
    return !page->labels.failed;
}

/* ---- families -------------------------------------------------------------------------------- */

static bool claim_name(struct page *page, const struct family *family, const char *suffix)
{
    uint64_t hash =
        XXH3_64bits_withSeed(suffix, strlen(suffix), XXH3_64bits(family->name, family->length));
    /* "x_total" as a name and "x" with "_total" are one: the suffix is taken off first. */
    for (size_t i = 0; !*suffix && i < 5; i++) {
        static const char *const endings[] = {"_total", "_created", "_count", "_sum", "_info"};
        size_t size = strlen(endings[i]);
        if (family->length > size &&
            memcmp(family->name + family->length - size, endings[i], size) == 0) {
            hash = XXH3_64bits_withSeed(endings[i], size,
                                        XXH3_64bits(family->name, family->length - size));
        }
    }
    return hashes_add(&page->names, hash, page->round) == page->round;
}

/* Writes the head of a family unless a name of its samples is taken already. */
static bool begin_family(struct page *page, const struct family *family)
{
    static const char *const suffixes[][4] = {
        [FAMILY_GAUGE] = {"", NULL},
        [FAMILY_COUNTER] = {"", "_total", "_created", NULL},
        [FAMILY_INFO] = {"", NULL},
        [FAMILY_FLAGS] = {"", NULL},
        [FAMILY_SUMMARY] = {"", "_sum", "_count", "_created"},
    };
    page->round++;
    for (int i = 0; i < 4 && suffixes[family->type][i]; i++) {
        if (!claim_name(page, family, suffixes[family->type][i])) {
            return false;
        }
    }
    family_put_head(family, page->out);
    return true;
}

/* Whether this series is the first with its labels in the family. */
static bool begin_series(struct page *page, const struct sample *sample)
{
    uint32_t *written = &page->written[page->first_alike[sample->set]];
    bool first = *written != page->round;
    *written = page->round;
    return first;
}

/* NAME SUFFIX {LABELS ,extra="value"} and a space. */
static void put_series(struct page *page, const struct family *family, const char *suffix,
                       const struct sample *sample, const char *extra, const char *value)
{
    const struct label_set *set = &page->sets[sample->set];
    struct buf *out = page->out;
    buf_put(out, family->name, family->length);
    buf_puts(out, suffix);
    buf_putc(out, '{');
    buf_put(out, page->labels.data + set->at, set->length);
    if (extra) {
        buf_putc(out, ',');
        buf_puts(out, extra);
        buf_put(out, "=\"", 2);
        label_put_value(out, value);
        buf_putc(out, '"');
    }
    buf_put(out, "} ", 2);
}

static void put_number(struct page *page, const struct family *family, double number)
{
    if (family->ratio) {
        encode_ratio(page->out, number);
    } else {
        encode_f64(page->out, number);
    }
    buf_putc(page->out, '\n');
}

static bool number_of(const struct tacho_value *value, double *out)
{
    *out = value->type == TACHO_VALUE_I64 ? (double)value->as.i64 : value->as.f64;
    return value->type == TACHO_VALUE_I64 || value->type == TACHO_VALUE_F64;
}

static void put_plain(struct page *page, const struct family *family, const struct sample *sample)
{
    double number;
    bool counter = family->type == FAMILY_COUNTER;
    /* A counter below zero is none; a reader would refuse the whole page. */
    if (!number_of(sample->value, &number) || (counter && number < 0) ||
        !begin_series(page, sample)) {
        return;
    }
    put_series(page, family, counter ? "_total" : "", sample, NULL, NULL);
    if (sample->value->type == TACHO_VALUE_I64 && !family->ratio) {
        encode_i64(page->out, sample->value->as.i64);
        buf_putc(page->out, '\n');
    } else {
        put_number(page, family, number);
    }
}

static void put_info(struct page *page, const struct family *family, const struct sample *sample)
{
    struct buf number;
    double as_number;
    if (sample->value->type == TACHO_VALUE_TEXT) {
        if (begin_series(page, sample)) {
            put_series(page, family, "", sample, "value", sample->value->as.text);
            buf_put(page->out, "1\n", 2);
        }
    } else if (number_of(sample->value, &as_number) && begin_series(page, sample)) {
        buf_init(&number, 64);
        encode_f64(&number, as_number);
        char *text = buf_take(&number);
        put_series(page, family, "", sample, "value", text ? text : "");
        buf_put(page->out, "1\n", 2);
        free(text);
    }
}

static void put_flags(struct page *page, const struct family *family, const struct sample *sample)
{
    const struct metric *metric = metric_get(sample->value->metric);
    if (sample->value->type != TACHO_VALUE_FLAGS || !begin_series(page, sample)) {
        return;
    }
    for (uint32_t i = 0; i < metric->flag_count && i < 64; i++) {
        put_series(page, family, "", sample, "flag", metric->flag_names[i]);
        buf_put(page->out, sample->value->as.flags >> i & 1 ? "1\n" : "0\n", 2);
    }
}

static void put_quantiles(struct page *page, const struct family *family,
                          const struct sample *sample)
{
    const struct tacho_summary *summary = sample->value->as.summary;
    const struct {
        const char *name;
        double number;
    } quantiles[] = {{"0.5", summary->p50},
                     {"0.9", summary->p90},
                     {"0.95", summary->p95},
                     {"0.99", summary->p99}};
    if (!begin_series(page, sample)) {
        return;
    }
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        if (quantiles[i].number >= 0) { /* OpenMetrics forbids those below 0. */
            put_series(page, family, "", sample, "quantile", quantiles[i].name);
            put_number(page, family, quantiles[i].number);
        }
    }
    double sum = summary->mean * (double)summary->count;
    if (isfinite(sum) && sum >= 0) {
        put_series(page, family, "_sum", sample, NULL, NULL);
        put_number(page, family, sum);
    }
    put_series(page, family, "_count", sample, NULL, NULL);
    encode_u64(page->out, summary->count);
    buf_putc(page->out, '\n');
}

/* ---- metrics --------------------------------------------------------------------------------- */

static void put_plain_family(struct page *page, const struct metric *metric,
                             const struct sample *samples, uint32_t count)
{
    static void (*const puts[])(struct page *, const struct family *, const struct sample *) = {
        [FAMILY_GAUGE] = put_plain,
        [FAMILY_COUNTER] = put_plain,
        [FAMILY_INFO] = put_info,
        [FAMILY_FLAGS] = put_flags,
    };
    struct family family;
    family_of_metric(metric, &family);
    size_t before = page->out->length;
    if (!begin_family(page, &family)) {
        return;
    }
    size_t head = page->out->length;
    for (uint32_t i = 0; i < count; i++) {
        puts[family.type](page, &family, &samples[i]);
    }
    if (page->out->length == head) {
        page->out->length = before; /* Nothing to show: no head either. */
    }
}

static void put_distribution(struct page *page, const struct metric *metric,
                             const struct sample *samples, uint32_t count)
{
    struct family family;
    family_of_summary(metric, FAMILY_DISTRIBUTION, &family);
    if (!begin_family(page, &family)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (samples[i].value->type == TACHO_VALUE_SUMMARY) {
            put_quantiles(page, &family, &samples[i]);
        }
    }
}

/* The smallest or largest reading, which a summary of OpenMetrics has no place for. */
static void put_extreme(struct page *page, const struct metric *metric, bool largest,
                        const struct sample *samples, uint32_t count)
{
    struct family family;
    family_of_summary(metric, largest ? FAMILY_MAX : FAMILY_MIN, &family);
    if (!begin_family(page, &family)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (samples[i].value->type == TACHO_VALUE_SUMMARY) {
            const struct tacho_summary *summary = samples[i].value->as.summary;
            double number = largest ? summary->max : summary->min;
            if (!isnan(number) && begin_series(page, &samples[i])) {
                put_series(page, &family, "", &samples[i], NULL, NULL);
                put_number(page, &family, number);
            }
        }
    }
}

static void put_metric(struct page *page, const struct metric *metric)
{
    uint32_t begin = page->begins[metric->id], end = page->begins[metric->id + 1];
    uint32_t plain = 0, summaries = 0;
    for (uint32_t i = begin; i < end; i++) {
        plain += page->samples[i].value->type != TACHO_VALUE_ABSENT;
        summaries += page->samples[i].value->type == TACHO_VALUE_SUMMARY;
    }
    if (plain > summaries) {
        put_plain_family(page, metric, &page->samples[begin], end - begin);
    }
    if (summaries > 0) {
        put_distribution(page, metric, &page->samples[begin], end - begin);
        put_extreme(page, metric, false, &page->samples[begin], end - begin);
        put_extreme(page, metric, true, &page->samples[begin], end - begin);
    }
}

static void put_page(const struct tacho_batch *const *batches, size_t count, struct buf *out)
{
    struct page page;
    if (!page_init(&page, batches, count, out) || !page_collect(&page, batches, count)) {
        out->failed = true;
        page_fini(&page);
        return;
    }
    for (uint32_t i = 0; i < page.metric_count; i++) {
        if (page.begins[i] != page.begins[i + 1]) {
            put_metric(&page, metric_get(i));
        }
    }
    page_fini(&page);
}

void encode_openmetrics(const struct tacho_batch *batch, struct buf *out)
{
    put_page(&batch, 1, out);
}

void encode_openmetrics_page(const struct tacho_batch *const *batches, size_t count,
                             struct buf *out)
{
    put_page(batches, count, out);
    buf_puts(out, "# EOF\n");
}
