/* SPDX-License-Identifier: MIT */
/*
 * Life, waiting and numbers of an instance; see instance.h. The calls into the plugin and their
 * supervision are in instance_call.c.
 */
#include "core/instance.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/isolate.h"

/* Plugins are told in plugins/README.md not to put more than this on the stack. Untouched pages of
 * it cost nothing. */
enum { STACK_BYTES = 256 << 10 };

static void init_locks(struct instance *instance)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&instance->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&instance->lock, NULL);
    pthread_mutex_init(&instance->cancel_lock, NULL);
}

static void instance_free(struct instance *instance)
{
    queue_free(instance->queue);
    host_fini(&instance->host);
    pthread_mutex_destroy(&instance->cancel_lock);
    pthread_mutex_destroy(&instance->lock);
    pthread_cond_destroy(&instance->changed);
    free(instance);
}

int instance_new(struct conf_instance *conf, const struct host_services *services,
                 struct host *reports, struct instance **out, struct tacho_err *err)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance) {
        return tacho_fail(err, TACHO_RETRY, "no memory for instance %s", conf->name);
    }
    int result = host_init(&instance->host, services, conf->name, conf->module, err);
    if (result != TACHO_OK) {
        free(instance);
        return result;
    }
    init_locks(instance);
    atomic_init(&instance->refs, 1);
    instance->conf = conf;
    instance->plugin = conf->isolate ? &isolate_plugin : &conf->module->plugin;
    instance->options = conf->isolate ? (const void *)conf : conf->options;
    instance->reports = reports;
    if (conf->role == CONF_PROVIDER) {
        snprintf(instance->host.interval, sizeof instance->host.interval, "%lld",
                 (long long)conf->interval_ns);
    }
    if (conf->role != CONF_PROVIDER &&
        !(instance->queue = queue_new(conf->queue, conf->overflow))) {
        instance_free(instance);
        return tacho_fail(err, TACHO_RETRY, "no memory for the queue of %s", conf->name);
    }
    *out = instance;
    return TACHO_OK;
}

struct instance *instance_ref(struct instance *instance)
{
    atomic_fetch_add_explicit(&instance->refs, 1, memory_order_relaxed);
    return instance;
}

void instance_unref(struct instance *instance)
{
    if (instance && atomic_fetch_sub_explicit(&instance->refs, 1, memory_order_acq_rel) == 1) {
        instance_free(instance);
    }
}

int instance_start(struct instance *instance, void *(*run)(void *), struct tacho_err *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    instance_ref(instance);
    int failed = pthread_create(&instance->thread, &attributes, run, instance);
    pthread_attr_destroy(&attributes);
    if (failed) {
        instance_unref(instance);
        char said[128];
        return tacho_fail(err, TACHO_RETRY, "cannot start a thread for %s: %s",
                          instance->conf->name, strerror_r(failed, said, sizeof said));
    }
    instance->started = true;
    char name[16];
    snprintf(name, sizeof name, "%.15s", instance->conf->name);
    pthread_setname_np(instance->thread, name);
    return TACHO_OK;
}

void instance_wake(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    instance->woken = true;
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    if (instance->queue) {
        queue_wake(instance->queue);
    }
}

void instance_stop(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    instance->stopping = true;
    instance->stop_ns = clock_mono_ns();
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    if (instance->queue) {
        queue_close(instance->queue);
    }
}

/* Waits for a change; false when mono_ns has passed. Called with the lock held. */
static bool wait_changed(struct instance *instance, int64_t mono_ns)
{
    struct timespec until = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};
    return pthread_cond_timedwait(&instance->changed, &instance->lock, &until) == 0;
}

bool instance_wait_done(struct instance *instance, int64_t until_mono_ns)
{
    pthread_mutex_lock(&instance->lock);
    while (!instance->done && instance->started && wait_changed(instance, until_mono_ns)) {
    }
    bool done = instance->done || !instance->started;
    pthread_mutex_unlock(&instance->lock);
    return done;
}

bool instance_join(struct instance *instance, int64_t until_mono_ns)
{
    if (!instance->started) {
        return true;
    }
    bool done = instance_wait_done(instance, until_mono_ns);
    if (done) {
        pthread_join(instance->thread, NULL);
    } else {
        host_retire(&instance->host);
        pthread_detach(instance->thread);
    }
    return done;
}

bool instance_stopping(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    bool stopping = instance->stopping;
    pthread_mutex_unlock(&instance->lock);
    return stopping;
}

void instance_wait(struct instance *instance, int64_t until_mono_ns)
{
    pthread_mutex_lock(&instance->lock);
    while (!instance->stopping && !instance->woken && wait_changed(instance, until_mono_ns)) {
    }
    instance->woken = false;
    pthread_mutex_unlock(&instance->lock);
}

void instance_done(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    instance->state = INSTANCE_STOPPED;
    instance->done = true;
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
    instance_unref(instance);
}

void instance_set_state(struct instance *instance, int state, const char *problem)
{
    pthread_mutex_lock(&instance->lock);
    bool news = strcmp(instance->problem, problem) != 0;
    bool was_bad = instance->problem[0] != '\0';
    instance->state = state;
    if (news) {
        snprintf(instance->problem, sizeof instance->problem, "%s", problem);
    }
    pthread_mutex_unlock(&instance->lock);
    if (news && *problem) {
        log_warn(&instance->host.log, "%s", problem);
    } else if (was_bad && !*problem && state == INSTANCE_OK) {
        log_info(&instance->host.log, "works again");
    }
}

const char *instance_state_name(int state)
{
    static const char *const names[] = {"starting", "ok",      "standby", "failing",
                                        "stuck",    "waiting", "stopped"};
    return state >= 0 && state <= INSTANCE_STOPPED ? names[state] : "unknown";
}

const char *instance_role_name(int role)
{
    static const char *const names[] = {"provider", "sink", "service"};
    return role >= 0 && role <= CONF_SERVICE ? names[role] : "unknown";
}

void instance_look(struct instance *instance, bool drain, struct instance_view *out)
{
    pthread_mutex_lock(&instance->cancel_lock);
    bool child = instance->conf->isolate && instance->self;
    out->child_pid = child ? isolate_child_pid(instance->self) : 0;
    out->child_exits = child ? isolate_child_exits(instance->self) : 0;
    pthread_mutex_unlock(&instance->cancel_lock);
    pthread_mutex_lock(&instance->lock);
    out->state = instance->call.stuck ? INSTANCE_STUCK : instance->state;
    memcpy(out->problem, instance->problem, sizeof out->problem);
    if (instance->call.stuck) {
        snprintf(out->problem, sizeof out->problem, "%s has not returned for %.1f s",
                 instance->call.what,
                 (double)(clock_mono_ns() - instance->call.begin_ns) / (double)NS_PER_S);
    }
    out->stats = instance->stats;
    if (drain) {
        histogram_reset(&instance->stats.duration);
        histogram_reset(&instance->stats.lateness);
    }
    pthread_mutex_unlock(&instance->lock);
    out->queue = (struct queue_stats){0};
    if (instance->queue) {
        queue_stats(instance->queue, &out->queue);
    }
}

void instance_event(struct host *reports, const char *name, const char *type, int severity,
                    const char *message)
{
    struct tacho_batch *batch = reports ? batch_new(reports->pool) : NULL;
    if (batch) {
        batch_entity(batch, "instance", name, -1, 0);
        batch_event(batch, type, severity, message);
        host_publish(reports, batch);
    }
}
