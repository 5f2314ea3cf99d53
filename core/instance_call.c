/* SPDX-License-Identifier: MIT */
/*
 * Calls into a plugin, and what happens when one does not return; see instance.h. The thread notes
 * what it enters and leaves; the supervisor reads that note. Neither ever waits for the plugin.
 */
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/instance.h"
#include "core/schedule.h"

void instance_begin(struct instance *instance, const char *what, int64_t late_ns)
{
    /* A cancel of the call before may still be on its way. */
    pthread_mutex_lock(&instance->cancel_lock);
    pthread_mutex_unlock(&instance->cancel_lock);
    int64_t now_ns = clock_mono_ns();
    pthread_mutex_lock(&instance->lock);
    instance->call = (struct instance_call){
        .what = what, .begin_ns = now_ns, .deadline_ns = now_ns + instance->conf->deadline_ns};
    if (late_ns >= 0) {
        histogram_add(&instance->stats.lateness, late_ns);
    }
    pthread_mutex_unlock(&instance->lock);
}

static void report_return(struct instance *instance, const struct instance_call *call,
                          int64_t now_ns)
{
    char text[128];
    snprintf(text, sizeof text, "%s returned after %.1f s", call->what,
             (double)(now_ns - call->begin_ns) / (double)NS_PER_S);
    log_info(&instance->host.log, "%s", text);
    instance_event(instance->reports, instance->host.name, "unstuck", TACHO_SEVERITY_INFO, text);
}

void instance_end(struct instance *instance, int result)
{
    int64_t now_ns = clock_mono_ns();
    pthread_mutex_lock(&instance->lock);
    struct instance_call call = instance->call;
    instance->call = (struct instance_call){0};
    instance->stats.calls++;
    instance->stats.errors += schedule_failed(result) || result == TACHO_DEVICE_LOST;
    histogram_add(&instance->stats.duration, now_ns - call.begin_ns);
    pthread_mutex_unlock(&instance->lock);
    if (call.stuck) {
        /* The supervisor may still be saying that it is stuck. */
        pthread_mutex_lock(&instance->cancel_lock);
        pthread_mutex_unlock(&instance->cancel_lock);
        report_return(instance, &call, now_ns);
    }
}

int instance_open(struct instance *instance, struct tacho_err *err)
{
    if (instance->self) {
        return TACHO_OK;
    }
    void *self = NULL;
    instance_begin(instance, "open", -1);
    int result = instance->plugin->open(&instance->host.table, instance->options, &self, err);
    instance_end(instance, result);
    if (result != TACHO_OK) {
        tacho_fail(err, result, "open failed without saying why");
        return result;
    }
    pthread_mutex_lock(&instance->cancel_lock);
    instance->self = self;
    pthread_mutex_unlock(&instance->cancel_lock);
    return TACHO_OK;
}

void instance_close(struct instance *instance)
{
    if (!instance->self) {
        return;
    }
    pthread_mutex_lock(&instance->cancel_lock);
    void *self = instance->self;
    instance->self = NULL;
    pthread_mutex_unlock(&instance->cancel_lock);
    instance_begin(instance, "close", -1);
    instance->plugin->close(self);
    instance_end(instance, TACHO_OK);
}

/* Notes that the call under way is stuck; false when it is not, or was known. */
static bool mark_stuck(struct instance *instance, int64_t now_ns, struct instance_call *out)
{
    pthread_mutex_lock(&instance->lock);
    bool late =
        instance->call.what && !instance->call.stuck && now_ns >= instance->call.deadline_ns;
    if (late) {
        instance->call.stuck = true;
        instance->stats.stuck++;
        *out = instance->call;
    }
    pthread_mutex_unlock(&instance->lock);
    return late;
}

static void report_stuck(struct instance *instance, const struct instance_call *call)
{
    char text[160];
    snprintf(text, sizeof text, "%s has not returned within its deadline of %.3g s; not waiting",
             call->what, (double)(call->deadline_ns - call->begin_ns) / (double)NS_PER_S);
    log_warn(&instance->host.log, "%s", text);
    instance_event(instance->reports, instance->host.name, "stuck", TACHO_SEVERITY_CRITICAL, text);
    if (instance->chain) {
        chain_fail(instance->chain, instance, text);
    }
}

static int64_t next_look(struct instance *instance, int64_t now_ns)
{
    pthread_mutex_lock(&instance->lock);
    /* A call that begins right after this look is found late by its deadline at most; to look twice
     * as often would cost as much as the calls themselves. */
    int64_t next_ns = now_ns + 2 * instance->conf->deadline_ns;
    if (instance->call.what && !instance->call.stuck) {
        next_ns = instance->call.deadline_ns;
    }
    pthread_mutex_unlock(&instance->lock);
    return next_ns;
}

int64_t instance_supervise(struct instance *instance, int64_t now_ns)
{
    struct instance_call call;
    pthread_mutex_lock(&instance->cancel_lock);
    bool stuck = mark_stuck(instance, now_ns, &call);
    if (stuck && instance->self && instance->plugin->cancel) {
        instance->plugin->cancel(instance->self);
    }
    if (stuck) {
        report_stuck(instance, &call);
    }
    pthread_mutex_unlock(&instance->cancel_lock);
    return next_look(instance, now_ns);
}

void instance_cancel(struct instance *instance)
{
    pthread_mutex_lock(&instance->cancel_lock);
    pthread_mutex_lock(&instance->lock);
    bool wanted = instance->call.what && !instance->call.stuck;
    pthread_mutex_unlock(&instance->lock);
    if (wanted && instance->self && instance->plugin->cancel) {
        instance->plugin->cancel(instance->self);
    }
    pthread_mutex_unlock(&instance->cancel_lock);
}
