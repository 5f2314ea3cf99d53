/* SPDX-License-Identifier: MIT */
/* Instances for the probes; see plugin_check_run.h. */
#include "core/cmd/plugin_check_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/metric.h"

/* ---- the watching host ----------------------------------------------------------------------- */

static struct run_notes notes;

void run_notes_reset(void)
{
    notes = (struct run_notes){0};
}

const struct run_notes *run_notes(void)
{
    return &notes;
}

static void note(const char *format, ...) TACHO_PRINTF(1, 2);
static void note(const char *format, ...)
{
    if (!notes.wrong[0]) {
        va_list args;
        va_start(args, format);
        vsnprintf(notes.wrong, sizeof notes.wrong, format, args);
        va_end(args);
    }
}

/* Notes a value that the host would leave out without a word, or of another kind than declared. */
static void watch_value(const struct tacho_batch *batch, int32_t index, bool text)
{
    notes.values++;
    if (index < 0 || (uint32_t)index >= batch->map->count) {
        note("collect writes the metric %d, and there are only %u", index, batch->map->count);
        return;
    }
    const struct metric *metric = metric_get(batch->map->ids[index]);
    if (batch->entity_count == 0) {
        note("collect writes %s before it opens an entity", metric->desc.name);
    } else if (text && (metric->desc.kind == TACHO_GAUGE || metric->desc.kind == TACHO_COUNTER)) {
        note("%s is a %s but gets a text", metric->desc.name, metric_kind_name(metric->desc.kind));
    } else if (!text && metric->desc.kind == TACHO_INFO) {
        note("%s is an info but gets a number", metric->desc.name);
    }
    const struct tacho_entity *entity =
        batch->entity_count ? &batch->entities[batch->entity_count - 1] : NULL;
    for (uint32_t i = 0; entity && i < entity->value_count; i++) {
        if (batch->values[batch->value_count - 1 - i].metric == metric->id) {
            note("%s is written twice for %s %s", metric->desc.name, entity->kind, entity->key);
        }
    }
}

static int32_t watch_entity(struct tacho_batch *batch, const char *kind, const char *key,
                            int32_t parent, uint32_t flags)
{
    notes.entities++;
    if (!kind || !kind[0] || !key || !key[0]) {
        note("an entity has no kind or no key");
        return -1;
    }
    if (parent < -1 || (parent >= 0 && (uint32_t)parent >= batch->entity_count)) {
        note("%s %s names entity %d as its parent, which is not there yet", kind, key, parent);
    }
    for (uint32_t i = 0; i < batch->entity_count && batch->entity_count < 4096; i++) {
        if (strcmp(batch->entities[i].kind, kind) == 0 &&
            strcmp(batch->entities[i].key, key) == 0) {
            note("%s %s is opened twice in one batch", kind, key);
        }
    }
    return batch_entity(batch, kind, key, parent, flags);
}

static void watch_label(struct tacho_batch *batch, const char *name, const char *value)
{
    if (batch->entity_count == 0) {
        note("a label comes before the first entity");
    } else if (!name || !name[0] || !value) {
        note("a label has no name or no value");
        return;
    }
    batch_label(batch, name, value);
}

static void watch_f64(struct tacho_batch *batch, int32_t metric, double value)
{
    watch_value(batch, metric, false);
    notes.not_finite += isfinite(value) ? 0 : 1;
    batch_f64(batch, metric, value);
}

static void watch_i64(struct tacho_batch *batch, int32_t metric, int64_t value)
{
    watch_value(batch, metric, false);
    batch_i64(batch, metric, value);
}

static void watch_text(struct tacho_batch *batch, int32_t metric, const char *value)
{
    watch_value(batch, metric, true);
    if (!value) {
        note("a text is NULL; say absent with a reason");
        return;
    }
    batch_text(batch, metric, value);
}

static void watch_flags(struct tacho_batch *batch, int32_t metric, uint64_t bits)
{
    watch_value(batch, metric, false);
    batch_flags(batch, metric, bits);
}

static void watch_absent(struct tacho_batch *batch, int32_t metric, int reason)
{
    bool known = metric >= 0 && (uint32_t)metric < batch->map->count;
    notes.absent++;
    if (!known) {
        note("collect says that the metric %d is absent, and there are only %u", metric,
             batch->map->count);
    }
    if (reason < TACHO_ABSENT_UNSUPPORTED || reason > TACHO_ABSENT_ERROR) {
        note("a value is absent for reason %d, which does not exist", reason);
    }
    batch_absent(batch, metric, reason);
}

static void watch(struct tacho_host *table)
{
    table->entity = watch_entity;
    table->label = watch_label;
    table->f64 = watch_f64;
    table->i64 = watch_i64;
    table->text = watch_text;
    table->flags = watch_flags;
    table->absent = watch_absent;
}

/* ---- instances ------------------------------------------------------------------------------- */

static void drop_batch(void *context, struct tacho_batch *batch)
{
    (void)context;
    batch_unref(batch);
}

static int refuse_call(void *context, const char *instance, const char *command,
                       const char *arguments_json, struct tacho_reply *reply, struct tacho_err *err)
{
    (void)context;
    (void)arguments_json;
    (void)reply;
    return tacho_fail(err, TACHO_UNSUPPORTED, "there is no '%s' to call '%s' of", instance,
                      command);
}

/* The options given, and for the second instance those of -O in their place. */
static int fill_options(struct run *run, struct check *check, bool second)
{
    struct option_text all[256];
    size_t count = 0;
    for (uint32_t i = 0; second && i < check->second_count && count < 256; i++) {
        all[count++] = check->second[i];
    }
    for (uint32_t i = 0; i < check->given_count && count < 256; i++) {
        bool replaced = false;
        for (uint32_t n = 0; second && n < check->second_count; n++) {
            replaced |= strcmp(check->second[n].name, check->given[i].name) == 0;
        }
        if (!replaced) {
            all[count++] = check->given[i];
        }
    }
    return option_fill(run->module, all, count, &run->options, &run->err);
}

int run_init(struct run *run, struct check *check, const char *name, bool second)
{
    *run = (struct run){
        .services = {
            .fleet = "check", .host = "check", .on_emit = drop_batch, .on_call = refuse_call}};
    run->services.state_dir = "";
    if (module_load(check->path, &run->module, &run->err) != TACHO_OK) {
        return check_say(check, VERDICT_SKIP, "cannot be loaded");
    }
    if (fill_options(run, check, second) != TACHO_OK) {
        return check_say(check, VERDICT_SKIP, "needs options (-o KEY=VALUE): %s", run->err.text);
    }
    if (host_init(&run->host, &run->services, name, run->module, &run->err) != TACHO_OK) {
        option_free(run->module, run->options);
        return check_say(check, VERDICT_SKIP, "its metrics are refused");
    }
    snprintf(run->host.interval, sizeof run->host.interval, "%lld", (long long)NS_PER_S);
    watch(&run->host.table);
    return RUN_READY;
}

void run_fini(struct run *run)
{
    run_close(run);
    host_fini(&run->host);
    option_free(run->module, run->options);
}

bool run_result_ok(struct check *check, const char *what, int result, const struct tacho_err *err)
{
    if (result < TACHO_OK || result > TACHO_FATAL) {
        check_say(check, VERDICT_FAIL, "%s returns %d, which is no result", what, result);
        return false;
    }
    if (result != TACHO_OK && result != TACHO_NO_DATA && !err->text[0]) {
        check_say(check, VERDICT_FAIL, "%s returns '%s' without a sentence; use tacho_fail", what,
                  err_result_name(result));
        return false;
    }
    return true;
}

int run_open(struct run *run, struct check *check)
{
    err_clear(&run->err);
    int result = run->module->plugin.open(&run->host.table, run->options, &run->self, &run->err);
    if (!run_result_ok(check, "open", result, &run->err)) {
        return VERDICT_FAIL;
    }
    if (result != TACHO_OK) {
        run->self = NULL;
        return check_say(check, VERDICT_SKIP, "open says (%s): %s", err_result_name(result),
                         run->err.text);
    }
    return RUN_READY;
}

void run_close(struct run *run)
{
    if (run->self) {
        run->module->plugin.close(run->self);
        run->self = NULL;
    }
}

int run_collect(struct run *run, int64_t allowed_ns)
{
    struct tacho_batch *batch = run->host.table.batch_new(&run->host.table);
    err_clear(&run->err);
    int result =
        run->module->plugin.collect(run->self, batch, clock_mono_ns() + allowed_ns, &run->err);
    if (batch->truncated) {
        note("the batch is too large: the rest was left out");
    }
    batch_seal(batch, 1);
    batch_unref(batch);
    return result;
}
