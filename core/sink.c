/* SPDX-License-Identifier: MIT */
/*
 * The loop of a sink's thread; see sink.h. While the plugin cannot take a batch, the queue fills
 * and drops by its own rule: nobody else waits.
 */
#include "core/sink.h"

#include <stdio.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/instance.h"
#include "core/schedule.h"
#include "core/service.h"

enum { TRIES = 5 }; /* of one batch, before it is dropped */
#define RETRY_FIRST_NS (100 * NS_PER_MS)
#define RETRY_LONGEST_NS (5 * NS_PER_S)
#define FLUSH_NS NS_PER_S
#define DRAIN_NS (600 * NS_PER_MS) /* for what is in the queue when it has to stop */

struct sink {
    struct instance *instance;
    struct schedule opening; /* when to try to open */
    bool reopen;
    bool dirty;  /* consumed and not flushed */
    bool unsafe; /* the last flush failed */
    int64_t flushed_ns;
};

static void set_problem(struct sink *sink, int result, const struct tacho_err *err)
{
    bool waits = result == TACHO_CONFIG || result == TACHO_UNSUPPORTED;
    char text[TACHO_ERR_TEXT];
    snprintf(text, sizeof text, "%s",
             err->text[0] ? err->text : "the plugin failed without saying why");
    instance_set_state(sink->instance, waits ? INSTANCE_WAITING : INSTANCE_FAILING, text);
}

/* Whether the time for emptying the queue is over. */
static bool out_of_time(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    bool over = instance->stopping && clock_mono_ns() >= instance->stop_ns + DRAIN_NS;
    pthread_mutex_unlock(&instance->lock);
    return over;
}

/* Opens the plugin when it is time to; true while it is open. */
static bool opened(struct sink *sink)
{
    struct instance *instance = sink->instance;
    if (instance->self) {
        return true;
    }
    if (clock_mono_ns() < sink->opening.next_ns) {
        return false;
    }
    struct tacho_err err = {0};
    int result = instance_open(instance, &err);
    if (result != TACHO_OK) {
        set_problem(sink, result, &err);
        schedule_after(&sink->opening, schedule_failed(result) ? result : TACHO_RETRY,
                       clock_mono_ns());
        return false;
    }
    pthread_mutex_lock(&instance->lock);
    instance->stats.restarts += sink->reopen;
    pthread_mutex_unlock(&instance->lock);
    sink->reopen = false;
    instance_set_state(instance, INSTANCE_OK, "");
    return true;
}

static void close_failed(struct sink *sink, int result)
{
    instance_close(sink->instance);
    sink->reopen = true;
    sink->dirty = sink->unsafe = false;
    schedule_after(&sink->opening, result, clock_mono_ns());
}

static void flush(struct sink *sink)
{
    struct instance *instance = sink->instance;
    struct tacho_err err = {0};
    sink->dirty = false;
    sink->flushed_ns = clock_mono_ns();
    if (!instance->plugin->flush || !instance->self) {
        return;
    }
    instance_begin(instance, "flush", -1);
    int result = instance->plugin->flush(instance->self, &err);
    instance_end(instance, result);
    if (schedule_failed(result)) {
        set_problem(sink, result, &err);
    } else if (sink->unsafe) {
        instance_set_state(instance, INSTANCE_OK, "");
    }
    sink->unsafe = schedule_failed(result);
    if (result == TACHO_FATAL) {
        close_failed(sink, result);
    }
}

/* One try; true when the plugin has taken the batch. */
static bool consume(struct sink *sink, const struct tacho_batch *batch)
{
    struct instance *instance = sink->instance;
    struct tacho_err err = {0};
    instance_begin(instance, "consume", -1);
    int result = instance->plugin->consume(instance->self, batch, &err);
    instance_end(instance, result);
    if (!schedule_failed(result)) {
        sink->dirty = true;
        sink->opening.failures = 0;
        if (!sink->unsafe) {
            instance_set_state(instance, INSTANCE_OK, "");
        }
        return true;
    }
    set_problem(sink, result, &err);
    if (result == TACHO_FATAL || result == TACHO_CONFIG) {
        close_failed(sink, result);
    }
    return false;
}

static void pause_before(struct sink *sink, uint32_t tries)
{
    struct instance *instance = sink->instance;
    int64_t until_ns = clock_mono_ns() + schedule_pause(RETRY_FIRST_NS, RETRY_LONGEST_NS, tries);
    while (!instance_stopping(instance) && clock_mono_ns() < until_ns) {
        instance_wait(instance, until_ns);
        service_answer(instance);
    }
}

/* Hands over a batch, trying again a few times; takes the batch. */
static void deliver(struct sink *sink, const struct tacho_batch *batch)
{
    struct instance *instance = sink->instance;
    bool taken = false;
    for (uint32_t tries = 0; tries < TRIES && !taken; tries++) {
        if (tries > 0) {
            pause_before(sink, tries);
        }
        if (instance_stopping(instance) && tries > 1) {
            break;
        }
        taken = opened(sink) && consume(sink, batch);
    }
    batch_unref(batch);
    if (!taken) {
        pthread_mutex_lock(&instance->lock);
        instance->stats.dropped_failed++;
        pthread_mutex_unlock(&instance->lock);
    }
}

/* The next batch. When there is none at once, what was consumed is flushed before waiting. */
static const struct tacho_batch *next_batch(struct sink *sink)
{
    struct queue *queue = sink->instance->queue;
    const struct tacho_batch *batch = queue_pop(queue, 0);
    if (batch) {
        return batch;
    }
    if (sink->dirty) {
        flush(sink);
    }
    return queue_pop(queue, SCHEDULE_NEVER);
}

/* One round; false when all is done. */
static bool step(struct sink *sink)
{
    struct instance *instance = sink->instance;
    service_answer(instance);
    if (!opened(sink)) {
        if (instance_stopping(instance)) {
            return false;
        }
        instance_wait(instance, sink->opening.next_ns);
        return true;
    }
    const struct tacho_batch *batch = next_batch(sink);
    if (batch) {
        deliver(sink, batch);
        if (sink->dirty && clock_mono_ns() >= sink->flushed_ns + FLUSH_NS) {
            flush(sink);
        }
        return !out_of_time(instance);
    }
    return !instance_stopping(instance);
}

/* What still lies in the queue is lost, and is said to be. */
static void drop_rest(struct instance *instance)
{
    uint64_t dropped = 0;
    const struct tacho_batch *batch;
    while ((batch = queue_pop(instance->queue, 0))) {
        batch_unref(batch);
        dropped++;
    }
    if (dropped > 0) {
        pthread_mutex_lock(&instance->lock);
        instance->stats.dropped_failed += dropped;
        pthread_mutex_unlock(&instance->lock);
        log_warn(&instance->host.log, "stopped with %llu batches not delivered",
                 (unsigned long long)dropped);
    }
}

void *sink_run(void *argument)
{
    struct instance *instance = argument;
    struct sink sink = {.instance = instance};
    schedule_init(&sink.opening, clock_mono_ns(), NS_PER_S, 30 * NS_PER_S);
    while (step(&sink)) {
    }
    service_refuse(instance);
    drop_rest(instance);
    if (sink.dirty) {
        flush(&sink);
    }
    instance_close(instance);
    instance_done(instance);
    return NULL;
}
