/* SPDX-License-Identifier: MIT */
/*
 * The loop of a provider's thread; see provider.h. When to call is decided by schedule, who serves
 * by chain; here is what to do about each outcome.
 */
#include "core/provider.h"

#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/instance.h"
#include "core/schedule.h"
#include "core/service.h"

#define LONGEST_PAUSE_NS (30 * NS_PER_S)
#define LONGEST_PAUSE_IN_CHAIN_NS (5 * NS_PER_S) /* so that the better one is back soon */

struct provider {
    struct instance *instance;
    struct schedule schedule;
    bool resting; /* a better one serves */
    bool reopen;  /* it was open before and has failed */
};

static void init(struct provider *provider, struct instance *instance)
{
    *provider = (struct provider){.instance = instance};
    schedule_init(&provider->schedule, clock_mono_ns() + instance->conf->phase_ns,
                  instance->conf->interval_ns,
                  instance->chain ? LONGEST_PAUSE_IN_CHAIN_NS : LONGEST_PAUSE_NS);
}

/* ---- outcomes -------------------------------------------------------------------------------- */

static void set_problem(struct provider *provider, int result, const struct tacho_err *err)
{
    bool waits = result == TACHO_CONFIG || result == TACHO_UNSUPPORTED;
    char text[TACHO_ERR_TEXT];
    snprintf(text, sizeof text, "%s",
             err->text[0] ? err->text : "the plugin failed without saying why");
    instance_set_state(provider->instance, waits ? INSTANCE_WAITING : INSTANCE_FAILING, text);
}

/* A device is gone and the rest goes on: said when it is news. */
static void report_lost(struct instance *instance, const struct tacho_err *err)
{
    bool news = strcmp(instance->problem, err->text) != 0;
    instance_set_state(instance, INSTANCE_OK, err->text);
    if (news) {
        instance_event(instance->reports, instance->host.name, "device_lost",
                       TACHO_SEVERITY_CRITICAL, err->text);
    }
}

/* Publishes what was collected, or gives it back: an empty batch, or one that another of the chain
 * has made superfluous. Takes the batch. */
static void publish(struct provider *provider, struct tacho_batch *batch, int result,
                    const char *reason)
{
    struct instance *instance = provider->instance;
    bool filled = batch->entity_count > 0 && result != TACHO_NO_DATA && !schedule_failed(result);
    bool works = !schedule_failed(result) && (filled || result != TACHO_DEVICE_LOST);
    bool serves = !instance->chain || chain_enter(instance->chain, instance, works, reason);
    if (filled && serves) {
        host_publish(&instance->host, batch);
    } else {
        batch_discard(batch);
    }
    if (instance->chain && serves) {
        chain_leave(instance->chain);
    }
}

static void conclude(struct provider *provider, struct tacho_batch *batch, int result,
                     const struct tacho_err *err)
{
    struct instance *instance = provider->instance;
    if (schedule_failed(result)) {
        set_problem(provider, result, err);
    } else if (result == TACHO_DEVICE_LOST) {
        report_lost(instance, err);
    } else {
        instance_set_state(instance, INSTANCE_OK, result == TACHO_PARTIAL ? err->text : "");
    }
    publish(provider, batch, result, err->text);
    if (result == TACHO_FATAL) {
        instance_close(instance);
        provider->reopen = true;
    }
}

/* ---- one round ------------------------------------------------------------------------------- */

static int open_plugin(struct provider *provider, struct tacho_err *err)
{
    struct instance *instance = provider->instance;
    if (instance->self) {
        return TACHO_OK;
    }
    int result = instance_open(instance, err);
    if (result == TACHO_OK) {
        pthread_mutex_lock(&instance->lock);
        instance->stats.restarts += provider->reopen;
        pthread_mutex_unlock(&instance->lock);
        provider->reopen = false;
        return TACHO_OK;
    }
    set_problem(provider, result, err);
    if (instance->chain) {
        chain_fail(instance->chain, instance, err->text);
    }
    return schedule_failed(result) ? result : TACHO_RETRY;
}

static int collect(struct provider *provider, int64_t late_ns)
{
    struct instance *instance = provider->instance;
    struct tacho_batch *batch = batch_new(instance->host.pool);
    struct tacho_err err = {0};
    if (!batch) {
        pthread_mutex_lock(&instance->lock);
        instance->stats.dropped_memory++;
        pthread_mutex_unlock(&instance->lock);
        return TACHO_OK;
    }
    instance_begin(instance, "collect", late_ns);
    int result = instance->plugin->collect(instance->self, batch,
                                           clock_mono_ns() + instance->conf->deadline_ns, &err);
    instance_end(instance, result);
    conclude(provider, batch, result, &err);
    return result;
}

static void add_skipped(struct instance *instance, uint64_t skipped)
{
    if (skipped > 0) {
        pthread_mutex_lock(&instance->lock);
        instance->stats.skipped += skipped;
        pthread_mutex_unlock(&instance->lock);
    }
}

static void step(struct provider *provider)
{
    struct tacho_err err = {0};
    int64_t late_ns = clock_mono_ns() - provider->schedule.next_ns;
    int result = open_plugin(provider, &err);
    if (result == TACHO_OK) {
        result = collect(provider, late_ns);
    }
    add_skipped(provider->instance, schedule_after(&provider->schedule, result, clock_mono_ns()));
}

/* Whether the chain wants this one; goes to rest or starts to work when that has changed. */
static bool wanted(struct provider *provider)
{
    struct instance *instance = provider->instance;
    bool active = !instance->chain || chain_active(instance->chain, instance);
    if (!active && !provider->resting) {
        instance_close(instance);
        instance_set_state(instance, INSTANCE_STANDBY, "");
    } else if (active && provider->resting) {
        schedule_now(&provider->schedule, clock_mono_ns());
        instance_set_state(instance, INSTANCE_STARTING, "");
    }
    provider->resting = !active;
    return active;
}

void *provider_run(void *argument)
{
    struct instance *instance = argument;
    struct provider provider;
    init(&provider, instance);
    while (!instance_stopping(instance)) {
        service_answer(instance);
        bool active = wanted(&provider);
        int64_t until_ns = active ? provider.schedule.next_ns : SCHEDULE_NEVER;
        if (clock_mono_ns() >= until_ns) {
            step(&provider);
        } else {
            instance_wait(instance, until_ns);
        }
    }
    service_refuse(instance);
    instance_close(instance);
    instance_done(instance);
    return NULL;
}
