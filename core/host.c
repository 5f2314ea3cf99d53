/* SPDX-License-Identifier: MIT */
/*
 * The host table of one instance; see host.h. Most members are functions of batch, encode, decode,
 * state and store as they stand; here are those that need to know who asks.
 */
#include "core/host.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/decode.h"
#include "core/encode.h"
#include "core/err.h"
#include "core/metric.h"
#include "core/process.h"
#include "core/store.h"

static struct host *host_of(const struct tacho_host *table)
{
    return table->instance;
}

static void host_log(const struct tacho_host *table, int level, const char *text)
{
    log_text(&host_of(table)->log, level, text);
}

static const char *host_setting(const struct tacho_host *table, int which)
{
    const struct host *host = host_of(table);
    switch (which) {
    case TACHO_SETTING_INSTANCE: return host->name;
    case TACHO_SETTING_FLEET: return host->services->fleet;
    case TACHO_SETTING_HOST: return host->services->host;
    case TACHO_SETTING_STATE_DIR: return host->services->state_dir;
    case TACHO_SETTING_VERSION: return PACKAGE_VERSION;
    case TACHO_SETTING_INTERVAL: return host->interval;
    default: return "";
    }
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Makes room for one more id. The former array stays where it is: a thread of the plugin may be
 * filling a batch by it. Called with the lock held. */
static bool grow_map(struct host *host)
{
    if (host->map.count < host->map_size) {
        return true;
    }
    uint32_t size = host->map_size ? host->map_size * 2 : 16;
    uint32_t *ids = host->outgrown_count < HOST_MAPS ? malloc(size * sizeof *ids) : NULL;
    if (!ids) {
        return false;
    }
    if (host->map.ids) {
        memcpy(ids, host->map.ids, host->map.count * sizeof *ids);
        host->outgrown[host->outgrown_count++] = host->map.ids;
    }
    host->map.ids = ids;
    host->map_size = size;
    return true;
}

/* Called with the lock held. `again` finds a metric that is there already. */
static int32_t add_metric(struct host *host, const struct tacho_metric *metric, bool again,
                          struct tacho_err *err)
{
    uint32_t id;
    if (metric_register(metric, &id, err) != TACHO_OK) {
        return -1;
    }
    for (uint32_t i = 0; again && i < host->map.count; i++) {
        if (host->map.ids[i] == id) {
            return (int32_t)i;
        }
    }
    if (!grow_map(host)) {
        tacho_fail(err, TACHO_RETRY, "no memory for metric %s", metric->name);
        return -1;
    }
    host->map.ids[host->map.count] = id;
    return (int32_t)host->map.count++;
}

static int32_t host_metric(const struct tacho_host *table, const struct tacho_metric *metric,
                           struct tacho_err *err)
{
    struct host *host = host_of(table);
    pthread_mutex_lock(&host->map_lock);
    int32_t index = add_metric(host, metric, true, err);
    pthread_mutex_unlock(&host->map_lock);
    return index;
}

static int host_metric_info(uint32_t metric_id, struct tacho_metric *out)
{
    const struct metric *metric = metric_get(metric_id);
    if (!metric) {
        return TACHO_NO_DATA;
    }
    *out = metric->desc;
    return TACHO_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

static struct tacho_batch *host_batch_new(const struct tacho_host *table)
{
    return batch_new(host_of(table)->pool);
}

static void hand_over(const struct host *host, struct tacho_batch *batch)
{
    if (host->services->bus) {
        bus_publish(host->services->bus, batch);
        batch_unref(batch);
    } else if (host->services->on_emit) {
        host->services->on_emit(host->services->context, batch);
    } else {
        batch_unref(batch);
    }
}

void host_publish(struct host *host, struct tacho_batch *batch)
{
    batch_mark(batch, host->batch_flags);
    pthread_mutex_lock(&host->publish_lock);
    if (host->retired) {
        batch_discard(batch);
    } else {
        batch_seal(batch, host->seq);
        host->seq += !batch->numbered;
        hand_over(host, batch);
    }
    pthread_mutex_unlock(&host->publish_lock);
}

uint64_t host_retire(struct host *host)
{
    pthread_mutex_lock(&host->publish_lock);
    host->retired = true;
    uint64_t next = host->seq;
    pthread_mutex_unlock(&host->publish_lock);
    return next;
}

static int host_emit(const struct tacho_host *table, struct tacho_batch *batch)
{
    host_publish(host_of(table), batch);
    return TACHO_OK;
}

static struct tacho_decoder *host_decoder_new(const struct tacho_host *table)
{
    return decoder_new(host_of(table)->pool);
}

/* ---- state, commands, logs on disk ----------------------------------------------------------- */

static struct tacho_snapshot *host_snapshot(const struct tacho_host *table)
{
    struct state *state = host_of(table)->services->state;
    return state ? state_snapshot(state) : NULL;
}

static int host_call(const struct tacho_host *table, const char *instance, const char *command,
                     const char *arguments_json, struct tacho_reply *reply, struct tacho_err *err)
{
    const struct host_services *services = host_of(table)->services;
    if (!services->on_call) {
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "cannot call %s of %s: there are no other instances here", command,
                          instance);
    }
    return services->on_call(services->context, instance, command, arguments_json, reply, err);
}

static void host_reply(struct tacho_reply *reply, const char *json, size_t length)
{
    buf_put(reply->out, json, length);
}

static int host_store_open(const struct tacho_host *table,
                           const struct tacho_store_options *options, struct tacho_store **out,
                           struct tacho_err *err)
{
    const struct host *host = host_of(table);
    struct store_writer writer = {.fleet = host->services->fleet,
                                  .host = host->services->host,
                                  .stream = host->name,
                                  .version = PACKAGE_VERSION,
                                  .session = host->services->session};
    return store_open(options, &writer, out, err);
}

static int host_cursor_open(const struct tacho_host *table, const char *path,
                            struct tacho_cursor **out, struct tacho_err *err)
{
    return cursor_open(path, host_of(table)->pool, out, err);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const struct tacho_host functions = {
    .struct_size = sizeof(struct tacho_host),
    .abi_major = TACHO_ABI_MAJOR,
    .abi_minor = TACHO_ABI_MINOR,
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
    .unref = batch_unref,
    .encode = encode_batch,
    .decoder_new = host_decoder_new,
    .decoder_free = decoder_free,
    .decode_schema = decode_schema,
    .decode_batch = decode_batch,
    .snapshot = host_snapshot,
    .snapshot_count = state_snapshot_count,
    .snapshot_at = state_snapshot_at,
    .snapshot_free = state_snapshot_free,
    .call = host_call,
    .reply = host_reply,
    .store_open = host_store_open,
    .store_append = store_append,
    .store_flush = store_flush,
    .store_stats = store_stats,
    .store_close = store_close,
    .cursor_open = host_cursor_open,
    .cursor_seek = cursor_seek,
    .cursor_next = cursor_next,
    .cursor_close = cursor_close,
    .process = process_read,
    .process_sees_host = process_sees_host,
};

static int add_table(struct host *host, const struct module *module, struct tacho_err *err)
{
    for (uint32_t i = 0; i < module->plugin.metric_count; i++) {
        if (add_metric(host, &module->metrics[i], false, err) < 0) {
            return err ? err->code : TACHO_CONFIG;
        }
    }
    if (module->plugin.flags & TACHO_SYNTHETIC) {
        host->batch_flags |= TACHO_SIMULATED;
    }
    return TACHO_OK;
}

int host_init(struct host *host, const struct host_services *services, const char *name,
              const struct module *module, struct tacho_err *err)
{
    memset(host, 0, sizeof *host);
    host->table = functions;
    host->table.instance = host;
    host->services = services;
    log_init(&host->log, name);
    pthread_mutex_init(&host->map_lock, NULL);
    pthread_mutex_init(&host->publish_lock, NULL);
    int result = module ? add_table(host, module, err) : TACHO_OK;
    host->name = strdup(name);
    host->pool = batch_pool_new(services->fleet, services->host, name, services->session,
                                module ? &host->map : NULL);
    if (result == TACHO_OK && (!host->name || !host->pool)) {
        result = tacho_fail(err, TACHO_RETRY, "no memory for instance %s", name);
    }
    if (result != TACHO_OK) {
        host_fini(host);
    }
    return result;
}

void host_fini(struct host *host)
{
    batch_pool_free(host->pool);
    free(host->name);
    free(host->map.ids);
    for (uint32_t i = 0; i < host->outgrown_count; i++) {
        free(host->outgrown[i]);
    }
    log_fini(&host->log);
    pthread_mutex_destroy(&host->map_lock);
    pthread_mutex_destroy(&host->publish_lock);
}
