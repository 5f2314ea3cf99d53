/* SPDX-License-Identifier: MIT */
/*
 * The watcher's thread; see engine.h. It looks at every call under way, publishes the self-metrics,
 * and tells the service manager that we are alive. It sleeps until the next deadline: a call that
 * begins meanwhile cannot be late before the shortest deadline is over, so nobody has to wake it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/engine_internal.h"
#include "core/notify.h"

#define SHORTEST_SLEEP_NS (5 * NS_PER_MS)
#define LONGEST_SLEEP_NS NS_PER_S
#define OWNER_SILENCE_NS (10 * NS_PER_S) /* longer than any reload */

struct watch {
    struct engine *engine;
    int64_t self_ns; /* when to publish next */
    int64_t self_interval_ns;
    int64_t alive_ns; /* when to tell the service manager next */
    int64_t alive_interval_ns;
};

static int64_t look_at_all(struct engine *engine, int64_t now_ns)
{
    int64_t next_ns = now_ns + LONGEST_SLEEP_NS;
    pthread_mutex_lock(&engine->lock);
    for (uint32_t i = 0; i < engine->list.count; i++) {
        int64_t look_ns = instance_supervise(engine->list.items[i], now_ns);
        next_ns = look_ns < next_ns ? look_ns : next_ns;
    }
    pthread_mutex_unlock(&engine->lock);
    return next_ns > now_ns + SHORTEST_SLEEP_NS ? next_ns : now_ns + SHORTEST_SLEEP_NS;
}

static void publish(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct identity *identity = engine->identity;
    struct tacho_batch *batch = batch_new(identity->self.pool);
    if (batch) {
        self_fill(batch, &engine->facts, identity->host, engine->list.items, engine->list.count);
        host_publish(&identity->self, batch);
    }
    pthread_mutex_unlock(&engine->lock);
}

static void publish_when_due(struct watch *watch, int64_t now_ns)
{
    pthread_mutex_lock(&watch->engine->lock);
    int64_t interval_ns = watch->engine->self_interval_ns;
    pthread_mutex_unlock(&watch->engine->lock);
    if (interval_ns != watch->self_interval_ns) {
        watch->self_interval_ns = interval_ns;
        watch->self_ns = now_ns + interval_ns;
    }
    if (interval_ns > 0 && now_ns >= watch->self_ns) {
        publish(watch->engine);
        watch->self_ns += (1 + (now_ns - watch->self_ns) / interval_ns) * interval_ns;
    }
}

/* A sign of life is only given while the owner's thread shows one too. */
static void tell_alive(struct watch *watch, int64_t now_ns)
{
    bool owner = now_ns - atomic_load(&watch->engine->owner_ns) < OWNER_SILENCE_NS;
    if (watch->alive_interval_ns > 0 && now_ns >= watch->alive_ns && owner) {
        notify_send("WATCHDOG=1");
        watch->alive_ns = now_ns + watch->alive_interval_ns / 3;
    }
}

/* Sleeps; false when it is time to end. */
static bool sleep_until(struct engine *engine, int64_t mono_ns)
{
    struct timespec until = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};
    pthread_mutex_lock(&engine->watch_lock);
    while (!engine->watch_ends && !engine->watch_changed &&
           pthread_cond_timedwait(&engine->watch_wake, &engine->watch_lock, &until) == 0) {
    }
    bool goes_on = !engine->watch_ends;
    engine->watch_changed = false;
    pthread_mutex_unlock(&engine->watch_lock);
    return goes_on;
}

static void *watch_run(void *argument)
{
    struct engine *engine = argument;
    struct watch watch = {.engine = engine, .alive_interval_ns = notify_watchdog_ns()};
    int64_t next_ns = clock_mono_ns();
    while (sleep_until(engine, next_ns)) {
        int64_t now_ns = clock_mono_ns();
        next_ns = look_at_all(engine, now_ns);
        publish_when_due(&watch, now_ns);
        tell_alive(&watch, now_ns);
        if (watch.self_interval_ns > 0 && watch.self_ns < next_ns) {
            next_ns = watch.self_ns;
        }
    }
    return NULL;
}

void engine_watch_init(struct engine *engine)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->watch_wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&engine->watch_lock, NULL);
}

void engine_watch_fini(struct engine *engine)
{
    pthread_cond_destroy(&engine->watch_wake);
    pthread_mutex_destroy(&engine->watch_lock);
}

int engine_watch(struct engine *engine, struct tacho_err *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    atomic_store(&engine->owner_ns, clock_mono_ns());
    int failed = pthread_create(&engine->watcher, &attributes, watch_run, engine);
    pthread_attr_destroy(&attributes);
    if (failed) {
        return tacho_fail(err, TACHO_RETRY, "cannot start the watcher's thread: error %d", failed);
    }
    pthread_setname_np(engine->watcher, "watcher");
    engine->watching = true;
    return TACHO_OK;
}

void engine_watch_again(struct engine *engine)
{
    pthread_mutex_lock(&engine->watch_lock);
    engine->watch_changed = true;
    pthread_cond_signal(&engine->watch_wake);
    pthread_mutex_unlock(&engine->watch_lock);
}

void engine_unwatch(struct engine *engine)
{
    if (engine->watching) {
        pthread_mutex_lock(&engine->watch_lock);
        engine->watch_ends = true;
        pthread_cond_signal(&engine->watch_wake);
        pthread_mutex_unlock(&engine->watch_lock);
        pthread_join(engine->watcher, NULL);
        engine->watching = false;
    }
}
