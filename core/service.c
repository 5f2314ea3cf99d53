/* SPDX-License-Identifier: MIT */
/*
 * Commands; see service.h. A request is shared by caller and thread, so that either may leave
 * first; the instance's lock protects the list and every request's progress.
 */
#include "core/service.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/err.h"

#define REPLY_LIMIT (64u << 20)

enum progress { WAITING, RUNNING, FINISHED };

struct request {
    struct request *next;
    unsigned refs; /* caller and list, or thread */
    enum progress progress;
    int64_t begin_ns;
    char *command, *arguments;
    struct buf reply;
    int result;
    struct tacho_err err;
};

static void request_free(struct request *request)
{
    if (request) {
        buf_fini(&request->reply);
        free(request->command);
        free(request->arguments);
        free(request);
    }
}

static struct request *request_new(const char *command, const char *arguments_json)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request) {
        return NULL;
    }
    request->refs = 2;
    request->begin_ns = clock_mono_ns();
    buf_init(&request->reply, REPLY_LIMIT);
    request->command = strdup(command);
    request->arguments = strdup(arguments_json && *arguments_json ? arguments_json : "{}");
    if (!request->command || !request->arguments) {
        request_free(request);
        return NULL;
    }
    return request;
}

/* Called with the instance's lock held. */
static void request_unref(struct request *request)
{
    if (--request->refs == 0) {
        request_free(request);
    }
}

/* ---- the instance's thread ------------------------------------------------------------------- */

static void run(struct instance *instance, struct request *request)
{
    struct tacho_reply reply = {.out = &request->reply};
    if (!instance->self) {
        request->result =
            tacho_fail(&request->err, TACHO_RETRY, "%s is not open%s%s", instance->host.name,
                       instance->problem[0] ? ": " : "", instance->problem);
        return;
    }
    instance_begin(instance, "call", -1);
    request->result = instance->plugin->call(instance->self, request->command, request->arguments,
                                             &reply, &request->err);
    instance_end(instance, request->result);
}

/* Takes the oldest request off the list, or NULL. */
static struct request *take(struct instance *instance)
{
    pthread_mutex_lock(&instance->lock);
    struct request *request = instance->requests;
    if (request) {
        instance->requests = request->next;
        request->progress = RUNNING;
        request->begin_ns = clock_mono_ns();
    }
    pthread_mutex_unlock(&instance->lock);
    return request;
}

static void finish(struct instance *instance, struct request *request)
{
    pthread_mutex_lock(&instance->lock);
    request->progress = FINISHED;
    request_unref(request);
    pthread_cond_broadcast(&instance->changed);
    pthread_mutex_unlock(&instance->lock);
}

void service_answer(struct instance *instance)
{
    struct request *request;
    while ((request = take(instance))) {
        run(instance, request);
        finish(instance, request);
    }
}

void service_refuse(struct instance *instance)
{
    struct request *request;
    while ((request = take(instance))) {
        request->result =
            tacho_fail(&request->err, TACHO_RETRY, "%s is stopping", instance->host.name);
        finish(instance, request);
    }
}

/* ---- the caller ------------------------------------------------------------------------------ */

/* Puts the request on the list; false when nobody will run it any more. */
static bool append(struct instance *instance, struct request *request)
{
    pthread_mutex_lock(&instance->lock);
    bool open = !instance->stopping;
    struct request **end = &instance->requests;
    while (*end) {
        end = &(*end)->next;
    }
    if (open) {
        *end = request;
    }
    pthread_mutex_unlock(&instance->lock);
    return open;
}

/* Called with the lock held; true when the request is still on the list, and takes it off. */
static bool withdraw(struct instance *instance, struct request *request)
{
    for (struct request **at = &instance->requests; *at; at = &(*at)->next) {
        if (*at == request) {
            *at = request->next;
            return true;
        }
    }
    return false;
}

/* Waits until the request is finished or its time is over. Called with the lock held. */
static void wait_finished(struct instance *instance, const struct request *request)
{
    while (request->progress != FINISHED && !instance->stopping) {
        int64_t until_ns = request->begin_ns + instance->conf->deadline_ns;
        struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
        if (clock_mono_ns() >= until_ns) {
            return;
        }
        pthread_cond_timedwait(&instance->changed, &instance->lock, &until);
    }
}

/* Called with the lock held. */
static int give_up(struct instance *instance, struct request *request, struct tacho_err *err)
{
    double seconds = (double)instance->conf->deadline_ns / (double)NS_PER_S;
    if (instance->stopping) {
        if (withdraw(instance, request)) {
            request_unref(request);
        }
        return tacho_fail(err, TACHO_RETRY, "%s is stopping", instance->host.name);
    }
    if (withdraw(instance, request)) {
        request_unref(request);
        return tacho_fail(err, TACHO_RETRY, "%s was busy for %.3g s and did not begin with %s",
                          instance->host.name, seconds, request->command);
    }
    return tacho_fail(err, TACHO_RETRY, "%s did not answer %s within %.3g s", instance->host.name,
                      request->command, seconds);
}

static int take_answer(const struct request *request, struct buf *reply, struct tacho_err *err)
{
    if (request->reply.length > 0) {
        buf_put(reply, request->reply.data, request->reply.length);
    }
    if (request->result != TACHO_OK) {
        tacho_fail(err, request->result, "%s", request->err.text);
    }
    return request->result;
}

static int check(struct instance *instance, const char *command, struct tacho_err *err)
{
    if (!instance->plugin->call) {
        return tacho_fail(err, TACHO_UNSUPPORTED, "%s has no commands", instance->host.name);
    }
    if (pthread_equal(pthread_self(), instance->thread)) {
        return tacho_fail(err, TACHO_CONFIG, "%s called its own command %s", instance->host.name,
                          command);
    }
    return TACHO_OK;
}

int service_call(struct instance *instance, const char *command, const char *arguments_json,
                 struct buf *reply, struct tacho_err *err)
{
    int result = check(instance, command, err);
    if (result != TACHO_OK) {
        return result;
    }
    struct request *request = request_new(command, arguments_json);
    if (!request) {
        return tacho_fail(err, TACHO_RETRY, "no memory to call %s", instance->host.name);
    }
    if (!append(instance, request)) {
        request_free(request);
        return tacho_fail(err, TACHO_RETRY, "%s is stopping", instance->host.name);
    }
    instance_wake(instance);
    pthread_mutex_lock(&instance->lock);
    wait_finished(instance, request);
    result = request->progress == FINISHED ? take_answer(request, reply, err)
                                           : give_up(instance, request, err);
    request_unref(request);
    pthread_mutex_unlock(&instance->lock);
    return result;
}
