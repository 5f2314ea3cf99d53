/* SPDX-License-Identifier: MIT */
/* The roles of a plugin: collect under all circumstances, consume, call. */
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/clock.h"
#include "core/cmd/plugin_check.h"
#include "core/cmd/plugin_check_run.h"
#include "core/err.h"
#include "core/metric.h"

#define PATIENCE_NS (2 * NS_PER_S) /* past a deadline or a cancel */

/* Makes an open instance for a probe of a role; RUN_READY or the verdict. */
static int prepare(struct run *run, struct check *check)
{
    int ready = run_init(run, check, "check", false);
    if (ready != RUN_READY) {
        return ready;
    }
    ready = run_open(run, check);
    if (ready != RUN_READY) {
        run_fini(run);
    }
    return ready;
}

static int no_role(struct check *check, const char *role)
{
    return check_say(check, VERDICT_SKIP, "is no %s", role);
}

/* Whether the plugin has a role, as far as it can be loaded. */
static bool has_role(struct check *check, size_t offset)
{
    const struct module *module;
    struct tacho_err err = {0};
    void (*function)(void) = NULL;
    if (module_load(check->path, &module, &err) != TACHO_OK) {
        return true; /* the probe then says so */
    }
    memcpy(&function, (const char *)&module->plugin + offset, sizeof function);
    return function != NULL;
}

/* ---- collect --------------------------------------------------------------------------------- */

static int judge_notes(struct check *check, int result)
{
    const struct run_notes *seen = run_notes();
    if (seen->wrong[0]) {
        return check_say(check, VERDICT_FAIL, "%s", seen->wrong);
    }
    return check_say(check, VERDICT_PASS,
                     "%s: %" PRIu64 " entities, %" PRIu64 " values, %" PRIu64 " absent, %" PRIu64
                     " not finite (shown as absent)",
                     err_result_name(result), seen->entities, seen->values, seen->absent,
                     seen->not_finite);
}

int check_collect(struct check *check)
{
    struct run run;
    if (!has_role(check, offsetof(struct tacho_plugin, collect))) {
        return no_role(check, "provider");
    }
    int ready = prepare(&run, check);
    if (ready != RUN_READY) {
        return ready;
    }
    int result = TACHO_OK;
    for (int i = 0; i < 5 && !run_notes()->wrong[0]; i++) {
        run_notes_reset();
        result = run_collect(&run, NS_PER_S);
        if (!run_result_ok(check, "collect", result, &run.err)) {
            return VERDICT_FAIL;
        }
    }
    int verdict = judge_notes(check, result);
    run_fini(&run);
    return verdict;
}

/* ---- collect on a thread, with somebody watching --------------------------------------------- */

struct attempt {
    struct run *run;
    int64_t allowed_ns;
    int result;
    atomic_bool begun, done;
    pthread_t thread;
};

static void *attempt(void *argument)
{
    struct attempt *self = argument;
    atomic_store(&self->begun, true);
    self->result = run_collect(self->run, self->allowed_ns);
    atomic_store(&self->done, true);
    return NULL;
}

static bool wait_done(struct attempt *self, int64_t patience_ns)
{
    int64_t until_ns = clock_mono_ns() + patience_ns;
    while (!atomic_load(&self->done) && clock_mono_ns() < until_ns) {
        clock_sleep_until(clock_mono_ns() + NS_PER_MS);
    }
    return atomic_load(&self->done);
}

static bool start(struct attempt *self, struct run *run, int64_t allowed_ns)
{
    *self = (struct attempt){.run = run, .allowed_ns = allowed_ns};
    return pthread_create(&self->thread, NULL, attempt, self) == 0;
}

/* A collect that takes longer than it may: it must end by itself, or at least when cancelled. */
static int try_deadline(struct run *run, struct check *check, int64_t allowed_ns)
{
    struct attempt self;
    if (!start(&self, run, allowed_ns)) {
        return check_say(check, VERDICT_FAIL, "cannot start a thread");
    }
    int64_t begin_ns = clock_mono_ns();
    bool done = wait_done(&self, (allowed_ns > 0 ? allowed_ns : 0) + PATIENCE_NS);
    bool cancelled = false;
    if (!done && run->module->plugin.cancel) {
        run->module->plugin.cancel(run->self);
        cancelled = done = wait_done(&self, PATIENCE_NS);
    }
    if (!done) {
        return check_say(check, VERDICT_FAIL, "collect does not return %lld s past its deadline%s",
                         (long long)((clock_mono_ns() - begin_ns) / NS_PER_S),
                         run->module->plugin.cancel ? ", and cancel does not help"
                                                    : ", and there is no cancel");
    }
    pthread_join(self.thread, NULL);
    if (!run_result_ok(check, "collect", self.result, &run->err)) {
        return VERDICT_FAIL;
    }
    return check_say(check, VERDICT_PASS,
                     cancelled ? "collect heeds cancel, not the deadline"
                               : "collect returns in time");
}

int check_deadline(struct check *check)
{
    static const int64_t allowed[] = {-NS_PER_S, 0, NS_PER_MS, 200 * NS_PER_MS};
    struct run run;
    if (!has_role(check, offsetof(struct tacho_plugin, collect))) {
        return no_role(check, "provider");
    }
    int verdict = prepare(&run, check);
    if (verdict != RUN_READY) {
        return verdict;
    }
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        verdict = try_deadline(&run, check, allowed[i]);
        if (verdict != VERDICT_PASS) {
            return verdict; /* a thread may still be in there: the process ends with it */
        }
    }
    run_fini(&run);
    return verdict;
}

int check_cancel(struct check *check)
{
    struct run run;
    struct attempt self;
    if (!has_role(check, offsetof(struct tacho_plugin, collect))) {
        return no_role(check, "provider");
    }
    if (!has_role(check, offsetof(struct tacho_plugin, cancel))) {
        return check_say(check, VERDICT_SKIP, "has no cancel");
    }
    int ready = prepare(&run, check);
    if (ready != RUN_READY) {
        return ready;
    }
    run.module->plugin.cancel(run.self); /* with nothing under way: no harm */
    for (int i = 0; i < 3; i++) {
        if (!start(&self, &run, 50 * NS_PER_S)) {
            return check_say(check, VERDICT_FAIL, "cannot start a thread");
        }
        clock_sleep_until(clock_mono_ns() + 50 * NS_PER_MS);
        run.module->plugin.cancel(run.self);
        if (!wait_done(&self, PATIENCE_NS)) {
            return check_say(check, VERDICT_FAIL, "collect does not return %lld s after cancel",
                             (long long)(PATIENCE_NS / NS_PER_S));
        }
        pthread_join(self.thread, NULL);
        if (!run_result_ok(check, "a cancelled collect", self.result, &run.err)) {
            return VERDICT_FAIL;
        }
    }
    run_fini(&run);
    return check_say(check, VERDICT_PASS, "collect returns after cancel, and works again");
}

/* ---- sinks ----------------------------------------------------------------------------------- */

static struct tacho_batch *sample(struct batch_pool *pool, uint64_t seq)
{
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "gpu", "GPU-check", -1, 0);
    batch_label(batch, "index", "0");
    batch_f64(batch, (int32_t)metric_find("gpu.power")->id, 123.5);
    batch_absent(batch, (int32_t)metric_find("gpu.fan")->id, TACHO_ABSENT_UNSUPPORTED);
    if (seq % 10 == 0) {
        batch_event(batch, "check", TACHO_SEVERITY_INFO, "an event");
    }
    batch_seal(batch, seq);
    return batch;
}

int check_consume(struct check *check)
{
    struct run run;
    if (!has_role(check, offsetof(struct tacho_plugin, consume))) {
        return no_role(check, "sink");
    }
    int ready = prepare(&run, check);
    if (ready != RUN_READY) {
        return ready;
    }
    const struct tacho_plugin *plugin = &run.module->plugin;
    struct batch_pool *pool = batch_pool_new("check", "check", "check", 1, NULL);
    bool good = true;
    for (uint64_t seq = 1; good && seq <= 100; seq++) {
        struct tacho_batch *batch = sample(pool, seq);
        err_clear(&run.err);
        good =
            run_result_ok(check, "consume", plugin->consume(run.self, batch, &run.err), &run.err);
        batch_unref(batch);
    }
    if (good && plugin->flush) {
        err_clear(&run.err);
        good = run_result_ok(check, "flush", plugin->flush(run.self, &run.err), &run.err);
    }
    batch_pool_free(pool);
    run_fini(&run);
    return good ? check_say(check, VERDICT_PASS, "took 100 batches") : VERDICT_FAIL;
}

/* ---- services -------------------------------------------------------------------------------- */

/* One call; an answer that is ok must be JSON. */
static bool call_ok(struct run *run, struct check *check, const char *command, int *out_result)
{
    struct buf out;
    struct tacho_reply reply = {.out = &out};
    buf_init(&out, 64u << 20);
    err_clear(&run->err);
    *out_result = run->module->plugin.call(run->self, command, "{}", &reply, &run->err);
    bool good = run_result_ok(check, command, *out_result, &run->err);
    json_t *value = good && *out_result == TACHO_OK && out.length > 0
                        ? json_loadb(out.data, out.length, JSON_DECODE_ANY, NULL)
                        : json_null();
    if (!value) {
        check_say(check, VERDICT_FAIL, "the answer of '%s' is not JSON", command);
        good = false;
    }
    json_decref(value);
    buf_fini(&out);
    return good;
}

int check_commands(struct check *check)
{
    struct run run;
    int result;
    if (!has_role(check, offsetof(struct tacho_plugin, call))) {
        return no_role(check, "service");
    }
    int ready = prepare(&run, check);
    if (ready != RUN_READY) {
        return ready;
    }
    for (uint32_t i = 0; i < run.module->plugin.command_count; i++) {
        if (!call_ok(&run, check, run.module->commands[i].name, &result)) {
            return VERDICT_FAIL;
        }
    }
    if (!call_ok(&run, check, "no_such_command", &result)) {
        return VERDICT_FAIL;
    }
    if (result == TACHO_OK) {
        return check_say(check, VERDICT_FAIL, "answers a command that it does not have");
    }
    uint32_t count = run.module->plugin.command_count;
    run_fini(&run);
    return check_say(check, VERDICT_PASS, "%u commands, and refuses others", count);
}
