/* SPDX-License-Identifier: MIT */
/*
 * Commands: finding the instance that is meant, and the commands of the built-in instance "tacho",
 * which tells of the daemon itself and of the state. Replies are JSON.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/engine_internal.h"
#include "core/metric.h"
#include "core/service.h"
#include "core/units.h"

typedef int command(struct engine *engine, const json_t *arguments, struct buf *reply,
                    struct tacho_err *err);

/* ---- the daemon --------------------------------------------------------------------------------
 */

static void put_member(struct buf *out, const char *name, const char *text)
{
    buf_printf(out, "\"%s\":", name);
    encode_json_text(out, text);
    buf_putc(out, ',');
}

static void put_instance(struct buf *out, struct instance *instance)
{
    const struct conf_instance *conf = instance->conf;
    struct instance_view view;
    instance_look(instance, false, &view);
    buf_putc(out, '{');
    put_member(out, "name", conf->name);
    put_member(out, "role", instance_role_name(conf->role));
    put_member(out, "plugin", conf->plugin);
    put_member(out, "state", instance_state_name(view.state));
    put_member(out, "problem", view.problem);
    put_member(out, "chain", conf->role == CONF_PROVIDER ? conf->chain : "");
    buf_printf(out,
               "\"interval_ns\":%lld,\"calls\":%llu,\"errors\":%llu,\"skipped\":%llu,"
               "\"stuck\":%llu,\"restarts\":%llu,\"queue\":{\"depth\":%u,\"capacity\":%u},"
               "\"dropped\":{\"overflow\":%llu,\"failed\":%llu,\"memory\":%llu},\"child\":%d}",
               (long long)conf->interval_ns, (unsigned long long)view.stats.calls,
               (unsigned long long)view.stats.errors, (unsigned long long)view.stats.skipped,
               (unsigned long long)view.stats.stuck, (unsigned long long)view.stats.restarts,
               view.queue.depth, view.queue.capacity, (unsigned long long)view.queue.dropped,
               (unsigned long long)view.stats.dropped_failed,
               (unsigned long long)view.stats.dropped_memory, view.child_pid);
}

static int do_status(struct engine *engine, const json_t *arguments, struct buf *reply,
                     struct tacho_err *err)
{
    (void)arguments;
    (void)err;
    struct self_process process;
    self_process(&process);
    pthread_mutex_lock(&engine->lock);
    buf_putc(reply, '{');
    put_member(reply, "version", PACKAGE_VERSION);
    put_member(reply, "fleet", engine->identity->fleet);
    put_member(reply, "host", engine->identity->host);
    put_member(reply, "config", engine->conf->path);
    buf_printf(reply,
               "\"hash\":\"%s\",\"generation\":%llu,\"rejected\":%llu,\"session\":%llu,"
               "\"uptime\":%.3f,\"memory\":%lld,\"descriptors\":%lld,\"threads\":%lld,"
               "\"cpu_time\":%.3f,\"batches\":%llu,\"values\":%llu,\"instances\":[",
               engine->facts.hash, (unsigned long long)engine->facts.generation,
               (unsigned long long)engine->facts.rejected, (unsigned long long)engine->session,
               (double)(clock_mono_ns() - engine->started_ns) / (double)NS_PER_S,
               (long long)process.memory_bytes, (long long)process.descriptors,
               (long long)process.threads, process.cpu_seconds,
               (unsigned long long)bus_batches(engine->bus),
               (unsigned long long)bus_values(engine->bus));
    for (uint32_t i = 0; i < engine->list.count; i++) {
        buf_puts(reply, i ? "," : "");
        put_instance(reply, engine->list.items[i]);
    }
    pthread_mutex_unlock(&engine->lock);
    buf_puts(reply, "]}");
    return TACHO_OK;
}

static int do_reload(struct engine *engine, const json_t *arguments, struct buf *reply,
                     struct tacho_err *err)
{
    (void)arguments;
    return engine_ask_reload(engine, reply, err);
}

static int do_stop(struct engine *engine, const json_t *arguments, struct buf *reply,
                   struct tacho_err *err)
{
    (void)arguments;
    (void)err;
    buf_puts(reply, "{\"stopping\":true}");
    engine_post_stop(engine);
    return TACHO_OK;
}

static int do_config(struct engine *engine, const json_t *arguments, struct buf *reply,
                     struct tacho_err *err)
{
    (void)arguments;
    (void)err;
    pthread_mutex_lock(&engine->lock);
    const struct conf *conf = engine->conf;
    buf_putc(reply, '{');
    put_member(reply, "file", conf->path);
    buf_printf(reply, "\"hash\":\"%s\",\"values\":[", conf->hash_text);
    for (uint32_t i = 0; i < conf->value_count; i++) {
        buf_puts(reply, i ? ",{" : "{");
        put_member(reply, "path", conf->values[i].path);
        put_member(reply, "value", conf->values[i].text);
        buf_puts(reply, "\"origin\":");
        encode_json_text(reply, conf->values[i].origin);
        buf_putc(reply, '}');
    }
    pthread_mutex_unlock(&engine->lock);
    buf_puts(reply, "]}");
    return TACHO_OK;
}

/* ---- the state ---------------------------------------------------------------------------------
 */

static void put_batches(struct buf *out, const struct tacho_batch *const *batches, uint32_t count)
{
    buf_putc(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_puts(out, i ? "," : "");
        encode_json(batches[i], out);
    }
    buf_putc(out, ']');
}

/* The newest batches, of all sources or of the one named by the argument `source`; to be freed. */
static const struct tacho_batch **newest(const struct tacho_snapshot *snapshot,
                                         const json_t *arguments, uint32_t *out_count)
{
    uint32_t count = state_snapshot_count(snapshot);
    const char *source = json_string_value(json_object_get(arguments, "source"));
    const struct tacho_batch **batches = calloc(count ? count : 1, sizeof *batches);
    *out_count = 0;
    for (uint32_t i = 0; batches && i < count; i++) {
        const struct tacho_batch *batch = state_snapshot_at(snapshot, i);
        if (!source || strcmp(source, batch->source) == 0) {
            batches[(*out_count)++] = batch;
        }
    }
    return batches;
}

static int put_snapshot(struct engine *engine, const json_t *arguments, bool page,
                        struct buf *reply, struct tacho_err *err)
{
    struct tacho_snapshot *snapshot = state_snapshot(engine->state);
    uint32_t count;
    const struct tacho_batch **batches = newest(snapshot, arguments, &count);
    struct buf text;
    buf_init(&text, 64u << 20);
    if (batches && page) {
        encode_openmetrics_page(batches, count, &text);
        buf_putc(&text, '\0');
        encode_json_text(reply, text.failed ? "" : text.data);
    } else if (batches) {
        put_batches(reply, batches, count);
    }
    int result = batches && snapshot && !text.failed
                     ? TACHO_OK
                     : tacho_fail(err, TACHO_RETRY, "no memory for a snapshot");
    buf_fini(&text);
    free(batches);
    state_snapshot_free(snapshot);
    return result;
}

static int do_snapshot(struct engine *engine, const json_t *arguments, struct buf *reply,
                       struct tacho_err *err)
{
    return put_snapshot(engine, arguments, false, reply, err);
}

static int do_metrics(struct engine *engine, const json_t *arguments, struct buf *reply,
                      struct tacho_err *err)
{
    return put_snapshot(engine, arguments, true, reply, err);
}

static int do_events(struct engine *engine, const json_t *arguments, struct buf *reply,
                     struct tacho_err *err)
{
    (void)arguments;
    (void)err;
    const struct tacho_batch *events[256];
    uint32_t count = state_events(engine->state, events, TACHO_COUNT(events));
    put_batches(reply, events, count);
    for (uint32_t i = 0; i < count; i++) {
        batch_unref(events[i]);
    }
    return TACHO_OK;
}

static int do_history(struct engine *engine, const json_t *arguments, struct buf *reply,
                      struct tacho_err *err)
{
    enum { POINTS = 700 };
    const char *kind = json_string_value(json_object_get(arguments, "kind"));
    const char *key = json_string_value(json_object_get(arguments, "key"));
    const char *name = json_string_value(json_object_get(arguments, "metric"));
    const char *host = json_string_value(json_object_get(arguments, "host"));
    const struct metric *metric = name ? metric_find(name) : NULL;
    if (!kind || !key || !metric) {
        return tacho_fail(err, TACHO_CONFIG,
                          "history needs kind, key and a known metric, such as kind=gpu "
                          "key=GPU-1 metric=gpu.power");
    }
    struct state_point *points = calloc(POINTS, sizeof *points);
    if (!points) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the history");
    }
    pthread_mutex_lock(&engine->lock);
    host = host ? host : engine->identity->host;
    uint32_t count = state_history(engine->state, host, kind, key, metric->id, points, POINTS);
    pthread_mutex_unlock(&engine->lock);
    buf_putc(reply, '[');
    for (uint32_t i = 0; i < count; i++) {
        buf_printf(reply, "%s[%lld,", i ? "," : "", (long long)points[i].wall_ns);
        encode_json_number(reply, points[i].number);
        buf_putc(reply, ']');
    }
    buf_putc(reply, ']');
    free(points);
    return TACHO_OK;
}

/* ---- finding the command -----------------------------------------------------------------------
 */

static command do_help;

static const struct {
    const char *name;
    command *run;
    const char *arguments, *help;
} commands[] = {
    {"status", do_status, "", "The daemon and every instance"},
    {"reload", do_reload, "", "Read the configuration again and apply it"},
    {"stop", do_stop, "", "End the daemon"},
    {"config", do_config, "", "Effective values with their origin, secrets masked"},
    {"snapshot", do_snapshot, "[source=NAME]", "The newest batch of every source"},
    {"metrics", do_metrics, "[source=NAME]", "The same as one OpenMetrics page"},
    {"events", do_events, "", "The last events"},
    {"history", do_history, "kind=KIND key=KEY metric=NAME [host=NAME]", "A minute of one number"},
    {"help", do_help, "", "This list"},
};

static int do_help(struct engine *engine, const json_t *arguments, struct buf *reply,
                   struct tacho_err *err)
{
    (void)engine;
    (void)arguments;
    (void)err;
    buf_putc(reply, '[');
    for (size_t i = 0; i < TACHO_COUNT(commands); i++) {
        buf_puts(reply, i ? ",{" : "{");
        put_member(reply, "command", commands[i].name);
        put_member(reply, "arguments", commands[i].arguments);
        buf_puts(reply, "\"help\":");
        encode_json_text(reply, commands[i].help);
        buf_putc(reply, '}');
    }
    buf_putc(reply, ']');
    return TACHO_OK;
}

static int run_builtin(struct engine *engine, const char *name, const char *arguments_json,
                       struct buf *reply, struct tacho_err *err)
{
    for (size_t i = 0; i < TACHO_COUNT(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            json_t *arguments =
                json_loads(arguments_json && *arguments_json ? arguments_json : "{}", 0, NULL);
            int result = commands[i].run(engine, arguments, reply, err);
            json_decref(arguments);
            return result;
        }
    }
    return tacho_fail(err, TACHO_UNSUPPORTED,
                      "tacho has no command %s; 'tacho call tacho help' lists them", name);
}

/* A service before a sink or provider of the same name; a reference, or NULL. */
static struct instance *find_instance(struct engine *engine, const char *name)
{
    struct instance *found = NULL;
    pthread_mutex_lock(&engine->lock);
    for (uint32_t i = 0; i < engine->list.count; i++) {
        struct instance *instance = engine->list.items[i];
        if (strcmp(instance->conf->name, name) == 0 &&
            (!found || instance->conf->role == CONF_SERVICE)) {
            found = instance;
        }
    }
    if (found) {
        instance_ref(found);
    }
    pthread_mutex_unlock(&engine->lock);
    return found;
}

int engine_call(void *context, const char *name, const char *command_name,
                const char *arguments_json, struct buf *reply, struct tacho_err *err)
{
    struct engine *engine = context;
    if (strcmp(name, "tacho") == 0) {
        return run_builtin(engine, command_name, arguments_json, reply, err);
    }
    struct instance *instance = find_instance(engine, name);
    if (!instance) {
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "there is no instance %s; 'tacho status' lists them", name);
    }
    int result = service_call(instance, command_name, arguments_json, reply, err);
    instance_unref(instance);
    return result;
}

void engine_describe(struct engine *engine, struct buf *out)
{
    char interval[32];
    buf_printf(out, "tacho %s: host %s, session %llu:", PACKAGE_VERSION, engine->identity->host,
               (unsigned long long)engine->session);
    for (uint32_t i = 0; i < engine->list.count; i++) {
        const struct conf_instance *conf = engine->list.items[i]->conf;
        buf_printf(out, "%s %s", i ? "," : "", conf->name);
        if (conf->role == CONF_PROVIDER) {
            buf_printf(out, " every %s",
                       units_format_duration(conf->interval_ns, interval, sizeof interval));
        }
    }
    if (engine->control) {
        buf_printf(out, "; control %s", engine->control_path);
    }
}
