/* SPDX-License-Identifier: MIT */
/*
 * Metric registry; see metric.h. Slots are published with a release store of the count; the hash
 * table behind metric_find is read and written under the lock, as look-ups by name are rare.
 */
#include "core/metric.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/utf8.h"

#define BUCKETS (METRIC_LIMIT * 2)
enum { UNIT_MAX = 32, FLAGS_MAX = 4096, HELP_MAX = 1024 };

static const struct tacho_metric catalogue[] = {
#define METRIC(name_, unit_, kind_, flags_, help_) \
    {.name = (name_), .unit = (unit_), .kind = TACHO_##kind_, .flags = (flags_), .help = (help_)},
#include "core/catalog.def"
#undef METRIC
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock; /* protects buckets and additions */
    struct metric *slots[METRIC_LIMIT];
    atomic_uint count;
    uint16_t buckets[BUCKETS]; /* id + 1 */
} registry = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

_Static_assert(METRIC_LIMIT < UINT16_MAX, "ids must fit a bucket");

bool metric_name_ok(const char *text)
{
    if (*text < 'a' || *text > 'z') {
        return false;
    }
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._");
    return length <= METRIC_NAME_MAX && text[length] == '\0' && text[length - 1] != '.' &&
           !strstr(text, "..");
}

static uint64_t hash_desc(const struct tacho_metric *desc)
{
    uint64_t hash = XXH3_64bits_withSeed(desc->name, strlen(desc->name), (uint64_t)desc->kind);
    hash = XXH3_64bits_withSeed(desc->unit, strlen(desc->unit), hash);
    if (desc->flags) {
        hash = XXH3_64bits_withSeed(desc->flags, strlen(desc->flags), hash);
    }
    return hash;
}

/* "one|two" to an array of names; the array and the text behind it are one allocation. */
static const char **split_flags(const char *flags, uint32_t *out_count)
{
    size_t count = 1;
    for (const char *at = flags; *at; at++) {
        count += *at == '|';
    }
    const char **names = malloc(count * sizeof *names + strlen(flags) + 1);
    if (!names) {
        return NULL;
    }
    char *text = (char *)(names + count);
    memcpy(text, flags, strlen(flags) + 1);
    char *rest = text;
    for (size_t i = 0; i < count; i++) {
        names[i] = strsep(&rest, "|");
    }
    *out_count = (uint32_t)count;
    return names;
}

static void metric_free(struct metric *metric)
{
    free((char *)metric->desc.name);
    free((char *)metric->desc.unit);
    free((char *)metric->desc.flags);
    free((char *)metric->desc.help);
    free(metric->flag_names);
    free(metric);
}

static struct metric *metric_new(const struct tacho_metric *desc, bool standard)
{
    struct metric *metric = calloc(1, sizeof *metric);
    if (!metric) {
        return NULL;
    }
    metric->standard = standard;
    metric->desc = (struct tacho_metric){.name = strdup(desc->name),
                                         .unit = strdup(desc->unit),
                                         .kind = desc->kind,
                                         .flags = desc->flags ? strdup(desc->flags) : NULL,
                                         .help = strdup(desc->help ? desc->help : "")};
    if (desc->flags) {
        metric->flag_names = split_flags(desc->flags, &metric->flag_count);
    }
    if (!metric->desc.name || !metric->desc.unit || !metric->desc.help ||
        (desc->flags && (!metric->desc.flags || !metric->flag_names))) {
        metric_free(metric);
        return NULL;
    }
    metric->hash = hash_desc(&metric->desc);
    return metric;
}

/* The bucket that holds name, or the empty one where it belongs. Called with the lock held. */
static uint16_t *bucket_of(const char *name)
{
    size_t at = XXH3_64bits(name, strlen(name)) % BUCKETS;
    while (registry.buckets[at] &&
           strcmp(registry.slots[registry.buckets[at] - 1]->desc.name, name) != 0) {
        at = (at + 1) % BUCKETS;
    }
    return &registry.buckets[at];
}

/* Called with the lock held; NULL without memory. */
static struct metric *add(uint16_t *bucket, const struct tacho_metric *desc, bool standard)
{
    struct metric *metric = metric_new(desc, standard);
    if (metric) {
        uint32_t id = atomic_load_explicit(&registry.count, memory_order_relaxed);
        metric->id = id;
        registry.slots[id] = metric;
        *bucket = (uint16_t)(id + 1);
        atomic_store_explicit(&registry.count, id + 1, memory_order_release);
    }
    return metric;
}

static void load_catalogue(void)
{
    pthread_mutex_lock(&registry.lock);
    for (size_t i = 0; i < sizeof catalogue / sizeof catalogue[0]; i++) {
        uint16_t *bucket = bucket_of(catalogue[i].name);
        if (*bucket || !add(bucket, &catalogue[i], true)) {
            abort(); /* A name twice in the catalogue, or no memory before main has begun. */
        }
    }
    pthread_mutex_unlock(&registry.lock);
}

/* Whether a text can stand in a schema and on a line: UTF-8, without control characters. */
static bool text_ok(const char *text, size_t limit)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F) {
            return false;
        }
    }
    return length <= limit && utf8_ok(text, length);
}

/* At most 64 names, none of them empty. */
static bool flags_ok(const char *flags)
{
    unsigned count = 1;
    for (const char *at = flags; *at; at++) {
        count += *at == '|';
    }
    return count <= 64 && text_ok(flags, FLAGS_MAX) && *flags && *flags != '|' &&
           flags[strlen(flags) - 1] != '|' && !strstr(flags, "||");
}

static int check_desc(const struct tacho_metric *desc, struct tacho_err *err)
{
    if (!desc->name || !metric_name_ok(desc->name)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "metric name \"%.*s\" is not lower case, dotted and at most %d long",
                          METRIC_NAME_MAX, desc->name ? desc->name : "", METRIC_NAME_MAX);
    }
    if (!desc->unit || !text_ok(desc->unit, UNIT_MAX)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "metric %s has no unit, or one that is over %d bytes or not UTF-8",
                          desc->name, UNIT_MAX);
    }
    if (desc->kind < TACHO_GAUGE || desc->kind > TACHO_STATE) {
        return tacho_fail(err, TACHO_CONFIG, "metric %s has the unknown kind %d", desc->name,
                          desc->kind);
    }
    if (desc->flags && !flags_ok(desc->flags)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "metric %s has flags that are not up to 64 names as \"one|two\"",
                          desc->name);
    }
    if (desc->help && !text_ok(desc->help, HELP_MAX)) {
        return tacho_fail(
            err, TACHO_CONFIG,
            "metric %s has a help text that is over %d bytes or not one line of UTF-8", desc->name,
            HELP_MAX);
    }
    return TACHO_OK;
}

/* Flags may have grown at their end between two versions: each bit means the same in both. */
static bool same_flags(const char *one, const char *other)
{
    if (!one || !other) {
        return one == other;
    }
    size_t length = strlen(one) < strlen(other) ? strlen(one) : strlen(other);
    return memcmp(one, other, length) == 0 && (one[length] == '\0' || one[length] == '|') &&
           (other[length] == '\0' || other[length] == '|');
}

static int check_same(const struct metric *known, const struct tacho_metric *desc,
                      struct tacho_err *err)
{
    if (strcmp(known->desc.unit, desc->unit) != 0 || known->desc.kind != desc->kind) {
        return tacho_fail(err, TACHO_CONFIG, "metric %s is a %s in \"%s\", not a %s in \"%s\"",
                          desc->name, metric_kind_name(known->desc.kind), known->desc.unit,
                          metric_kind_name(desc->kind), desc->unit);
    }
    if (!same_flags(known->desc.flags, desc->flags)) {
        return tacho_fail(err, TACHO_CONFIG, "metric %s has the flags \"%.100s\", not \"%.100s\"",
                          desc->name, known->desc.flags ? known->desc.flags : "",
                          desc->flags ? desc->flags : "");
    }
    return TACHO_OK;
}

int metric_register(const struct tacho_metric *desc, uint32_t *out_id, struct tacho_err *err)
{
    pthread_once(&registry.once, load_catalogue);
    int result = check_desc(desc, err);
    if (result != TACHO_OK) {
        return result;
    }
    pthread_mutex_lock(&registry.lock);
    uint16_t *bucket = bucket_of(desc->name);
    const struct metric *metric = *bucket ? registry.slots[*bucket - 1] : NULL;
    if (metric) {
        result = check_same(metric, desc, err);
    } else if (atomic_load(&registry.count) == METRIC_LIMIT) {
        result = tacho_fail(err, TACHO_RETRY, "metric %s is one more than the %d that fit",
                            desc->name, METRIC_LIMIT);
    } else if (!(metric = add(bucket, desc, false))) {
        result = tacho_fail(err, TACHO_RETRY, "no memory for metric %s", desc->name);
    }
    pthread_mutex_unlock(&registry.lock);
    if (result == TACHO_OK) {
        *out_id = metric->id;
    }
    return result;
}

uint32_t metric_count(void)
{
    pthread_once(&registry.once, load_catalogue);
    return atomic_load_explicit(&registry.count, memory_order_acquire);
}

const struct metric *metric_get(uint32_t id)
{
    return id < metric_count() ? registry.slots[id] : NULL;
}

const struct metric *metric_find(const char *name)
{
    pthread_once(&registry.once, load_catalogue);
    pthread_mutex_lock(&registry.lock);
    uint16_t bucket = *bucket_of(name);
    pthread_mutex_unlock(&registry.lock);
    return bucket ? registry.slots[bucket - 1] : NULL;
}

static const char *const kind_names[] = {"", "gauge", "counter", "info", "state"};

const char *metric_kind_name(int kind)
{
    return kind >= TACHO_GAUGE && kind <= TACHO_STATE ? kind_names[kind] : "unknown";
}

int metric_parse_kind(const char *text)
{
    for (int kind = TACHO_GAUGE; kind <= TACHO_STATE; kind++) {
        if (strcmp(text, kind_names[kind]) == 0) {
            return kind;
        }
    }
    return 0;
}
