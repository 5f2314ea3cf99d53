/* SPDX-License-Identifier: MIT */
/* The host of plugin unit tests; see fakehost.h. */
#include "tests/fakehost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/metric.h"

static struct fakehost *of(const struct tacho_host *table)
{
    return table->instance;
}

static void host_log(const struct tacho_host *table, int level, const char *text)
{
    struct fakehost *host = of(table);
    pthread_mutex_lock(&host->lock);
    size_t used = strlen(host->log);
    (void)snprintf(host->log + used, sizeof host->log - used, "%d %s\n", level, text);
    host->log_count++;
    pthread_mutex_unlock(&host->lock);
}

static const char *host_setting(const struct tacho_host *table, int which)
{
    switch (which) {
    case TACHO_SETTING_INSTANCE: return of(table)->plugin->name;
    case TACHO_SETTING_FLEET: return "lab";
    case TACHO_SETTING_HOST: return "node";
    case TACHO_SETTING_VERSION: return "0";
    case TACHO_SETTING_INTERVAL: return of(table)->interval;
    default: return "";
    }
}

static int32_t host_metric(const struct tacho_host *table, const struct tacho_metric *metric,
                           struct tacho_err *err)
{
    struct fakehost *host = of(table);
    uint32_t id;
    if (metric_register(metric, &id, err) != TACHO_OK) {
        return -1;
    }
    for (uint32_t i = 0; i < host->map.count; i++) {
        if (host->ids[i] == id) {
            return (int32_t)i;
        }
    }
    if (host->map.count == FAKEHOST_METRICS) {
        (void)tacho_fail(err, TACHO_RETRY, "more than %d metrics", FAKEHOST_METRICS);
        return -1;
    }
    host->ids[host->map.count] = id;
    return (int32_t)host->map.count++;
}

static struct tacho_batch *host_batch_new(const struct tacho_host *table)
{
    struct fakehost *host = of(table);
    struct tacho_batch *batch = batch_new(host->pool);
    if (batch && host->plugin->flags & TACHO_SYNTHETIC) {
        batch_mark(batch, TACHO_SIMULATED);
    }
    return batch;
}

static int host_emit(const struct tacho_host *table, struct tacho_batch *batch)
{
    struct fakehost *host = of(table);
    pthread_mutex_lock(&host->lock);
    batch_seal(batch, ++host->seq);
    bool room = host->emitted_count < FAKEHOST_EMITTED;
    if (room) {
        host->emitted[host->emitted_count++] = batch;
    }
    pthread_mutex_unlock(&host->lock);
    if (!room) {
        batch_unref(batch);
    }
    return room ? TACHO_OK : TACHO_RETRY;
}

static int host_metric_info(uint32_t id, struct tacho_metric *out)
{
    const struct metric *metric = metric_get(id);
    if (!metric) {
        return TACHO_NO_DATA;
    }
    *out = metric->desc;
    return TACHO_OK;
}

static void fill_table(struct fakehost *host)
{
    host->table = (struct tacho_host){.struct_size = (uint32_t)sizeof(struct tacho_host),
                                      .abi_major = TACHO_ABI_MAJOR,
                                      .abi_minor = TACHO_ABI_MINOR,
                                      .instance = host,
                                      .log = host_log,
                                      .setting = host_setting,
                                      .wall_ns = clock_wall_ns,
                                      .mono_ns = clock_mono_ns,
                                      .metric = host_metric,
                                      .batch_new = host_batch_new,
                                      .emit = host_emit,
                                      .discard = batch_discard,
                                      .entity = batch_entity,
                                      .label = batch_label,
                                      .f64 = batch_f64,
                                      .i64 = batch_i64,
                                      .text = batch_text,
                                      .flags = batch_flags,
                                      .summary = batch_summary,
                                      .absent = batch_absent,
                                      .event = batch_event,
                                      .mark = batch_mark,
                                      .stamp = batch_stamp,
                                      .origin = batch_origin,
                                      .info = batch_info,
                                      .entity_at = batch_entity_at,
                                      .metric_info = host_metric_info,
                                      .ref = batch_ref,
                                      .unref = batch_unref};
}

void fakehost_init(struct fakehost *host, const struct tacho_plugin *plugin)
{
    memset(host, 0, sizeof *host);
    host->plugin = plugin;
    host->interval = "";
    host->map.ids = host->ids;
    pthread_mutex_init(&host->lock, NULL);
    fill_table(host);
    for (uint32_t i = 0; i < plugin->metric_count; i++) {
        struct tacho_err err = {0};
        if (host_metric(&host->table, &plugin->metrics[i], &err) != (int32_t)i) {
            (void)fprintf(stderr, "metric %u of %s: %s\n", i, plugin->name,
                          err.code ? err.text : "listed twice");
            abort();
        }
    }
    host->pool = batch_pool_new("lab", "node", plugin->name, 1, &host->map);
}

void fakehost_fini(struct fakehost *host)
{
    for (uint32_t i = 0; i < host->emitted_count; i++) {
        batch_unref(host->emitted[i]);
    }
    batch_pool_free(host->pool);
    pthread_mutex_destroy(&host->lock);
}

void *fakehost_open(struct fakehost *host, const void *options, struct tacho_err *err)
{
    void *self = NULL;
    *err = (struct tacho_err){0};
    return host->plugin->open(&host->table, options, &self, err) == TACHO_OK ? self : NULL;
}

void fakehost_close(struct fakehost *host, void *self)
{
    host->plugin->close(self);
}

const struct tacho_batch *fakehost_collect(struct fakehost *host, void *self, int *out_result,
                                           struct tacho_err *err)
{
    struct tacho_batch *batch = host_batch_new(&host->table);
    *err = (struct tacho_err){0};
    *out_result = host->plugin->collect(self, batch, clock_mono_ns() + 10 * NS_PER_S, err);
    pthread_mutex_lock(&host->lock);
    batch_seal(batch, ++host->seq);
    pthread_mutex_unlock(&host->lock);
    return batch;
}

/* The index of the nth entity of a kind, or -1. */
static int64_t entity_index(const struct tacho_batch *batch, const char *kind, uint32_t nth)
{
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        if (strcmp(batch->entities[i].kind, kind) == 0 && nth-- == 0) {
            return i;
        }
    }
    return -1;
}

const struct tacho_value *fakehost_find(const struct tacho_batch *batch, const char *kind,
                                        uint32_t nth, const char *name)
{
    int64_t index = entity_index(batch, kind, nth);
    const struct metric *metric = metric_find(name);
    return index >= 0 && metric ? batch_find(batch, (uint32_t)index, metric->id) : NULL;
}

double fakehost_number(const struct tacho_batch *batch, const char *kind, uint32_t nth,
                       const char *name)
{
    const struct tacho_value *value = fakehost_find(batch, kind, nth, name);
    if (value && value->type == TACHO_VALUE_F64) {
        return value->as.f64;
    }
    return value && value->type == TACHO_VALUE_I64 ? (double)value->as.i64 : (double)NAN;
}

const char *fakehost_label(const struct tacho_batch *batch, const char *kind, uint32_t nth,
                           const char *label)
{
    int64_t index = entity_index(batch, kind, nth);
    const struct tacho_entity *entity = index >= 0 ? &batch->entities[index] : NULL;
    for (uint32_t i = 0; entity && i < entity->label_count; i++) {
        if (strcmp(entity->labels[i].name, label) == 0) {
            return entity->labels[i].value;
        }
    }
    return NULL;
}

uint32_t fakehost_count(const struct tacho_batch *batch, const char *kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        count += strcmp(batch->entities[i].kind, kind) == 0;
    }
    return count;
}

uint32_t fakehost_emitted(struct fakehost *host)
{
    pthread_mutex_lock(&host->lock);
    uint32_t count = host->emitted_count;
    pthread_mutex_unlock(&host->lock);
    return count;
}

const struct tacho_batch *fakehost_emitted_at(struct fakehost *host, uint32_t nth)
{
    pthread_mutex_lock(&host->lock);
    const struct tacho_batch *batch = nth < host->emitted_count ? host->emitted[nth] : NULL;
    pthread_mutex_unlock(&host->lock);
    return batch;
}
