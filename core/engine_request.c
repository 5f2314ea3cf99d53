/* SPDX-License-Identifier: MIT */
/*
 * Requests to the engine's owner; see engine.h. A reload is counted when it is asked for and when
 * it begins: so requests that come during one lead to one more, and the last is never lost.
 */
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/engine_internal.h"
#include "core/notify.h"

int engine_request_fd(const struct engine *engine)
{
    return engine->request_fd;
}

static void ring(const struct engine *engine)
{
    uint64_t one = 1;
    if (write(engine->request_fd, &one, sizeof one) < 0) {
        /* The counter is at its limit: the owner is being told already. */
    }
}

void engine_post_reload(struct engine *engine)
{
    pthread_mutex_lock(&engine->request_lock);
    engine->reloads_asked++;
    pthread_mutex_unlock(&engine->request_lock);
    ring(engine);
}

int engine_ask_reload(struct engine *engine, struct buf *reply, struct tacho_err *err)
{
    int result = TACHO_OK;
    pthread_mutex_lock(&engine->request_lock);
    uint64_t mine = ++engine->reloads_asked;
    ring(engine);
    while (engine->reloads_done < mine && !engine->stop_asked) {
        pthread_cond_wait(&engine->request_done, &engine->request_lock);
    }
    if (engine->reloads_done < mine) {
        result = tacho_fail(err, TACHO_RETRY, "the daemon is stopping");
    } else {
        buf_put(reply, engine->outcome.data, engine->outcome.length);
    }
    pthread_mutex_unlock(&engine->request_lock);
    return result;
}

void engine_post_stop(struct engine *engine)
{
    engine_refuse_requests(engine);
    ring(engine);
}

void engine_refuse_requests(struct engine *engine)
{
    pthread_mutex_lock(&engine->request_lock);
    engine->stop_asked = true;
    pthread_cond_broadcast(&engine->request_done);
    pthread_mutex_unlock(&engine->request_lock);
}

static void reload(struct engine *engine, uint64_t asked)
{
    struct buf outcome;
    buf_init(&outcome, engine->outcome.limit);
    notify_reloading();
    engine_reload(engine, &outcome);
    notify_send("READY=1");
    pthread_mutex_lock(&engine->request_lock);
    buf_fini(&engine->outcome);
    engine->outcome = outcome;
    engine->reloads_done = asked;
    pthread_cond_broadcast(&engine->request_done);
    pthread_mutex_unlock(&engine->request_lock);
    engine_move_control(engine);
}

bool engine_handle(struct engine *engine)
{
    uint64_t rings;
    if (read(engine->request_fd, &rings, sizeof rings) < 0) {
        /* Nobody rang; there may still be something to do. */
    }
    for (;;) {
        atomic_store(&engine->owner_ns, clock_mono_ns());
        pthread_mutex_lock(&engine->request_lock);
        bool stop = engine->stop_asked;
        uint64_t asked = engine->reloads_asked;
        bool wanted = asked != engine->reloads_done;
        pthread_mutex_unlock(&engine->request_lock);
        if (stop || !wanted) {
            return !stop;
        }
        reload(engine, asked);
    }
}
