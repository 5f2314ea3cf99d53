/* SPDX-License-Identifier: MIT */
/*
 * The child's side of an isolated plugin; see isolate.h. The main thread runs the plugin's calls,
 * one after the other; a second thread reads what the parent says, so that a cancel arrives and a
 * parent that hangs up or dies is noticed while a call is under way. Everything for the parent goes
 * out under one lock, since the plugin may log and emit from threads of its own.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/batch.h"
#include "core/clock.h"
#include "core/encode.h"
#include "core/err.h"
#include "core/host.h"
#include "core/isolate.h"
#include "core/isolate_request.h"
#include "core/isolate_wire.h"
#include "core/log.h"
#include "core/module.h"

#define LEAVE_NS (2 * NS_PER_S) /* a call may take this long to return once the parent hung up */
#define LOOK_MS 1000            /* how often to look whether the parent is still there */

/* Schemas that the parent surely has: fewer than its decoder remembers. */
enum { SENT_SCHEMAS = 64, OUT_KEEP = 1 << 20 };

struct child {
    int fd;
    pid_t parent;
    const struct module *module;
    struct host_services services;
    struct host host;
    struct isolate_request request; /* what `open` was asked for: lives as long as the instance */
    struct wire_head work;          /* what the main thread is at */
    struct buf payload;

    pthread_mutex_t send_lock; /* protects what follows, and sending */
    struct buf out;
    uint64_t sent[SENT_SCHEMAS]; /* the one used last comes first */

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    void *self; /* the instance, or NULL */
    bool busy;  /* a call is under way */
    bool asked; /* the next one has come: it may, as soon as the result is out */
    struct wire_head next_work;
    struct buf next_payload;
    bool leaving; /* the parent hung up */
    bool left;    /* the main thread is through */
};

/* ---- to the parent --------------------------------------------------------------------------- */

/* Called with the send lock held. A parent that is gone is noticed by the reader. */
static void flush(struct child *child)
{
    if (!child->out.failed) {
        (void)wire_send(child->fd, child->out.data, child->out.length, INT64_MAX);
    }
    if (child->out.size > OUT_KEEP) {
        buf_fini(&child->out); /* one huge batch does not make the buffer huge for ever */
    }
    buf_reset(&child->out);
}

static void put_result(struct child *child, int code, const struct tacho_err *err)
{
    wire_put(&child->out, WIRE_RESULT, code, err->text, strnlen(err->text, TACHO_ERR_TEXT - 1));
}

static void send_result(struct child *child, int code, const struct tacho_err *err)
{
    pthread_mutex_lock(&child->send_lock);
    put_result(child, code, err);
    flush(child);
    pthread_mutex_unlock(&child->send_lock);
}

/* Whether the parent has the schema; notes that it is the one used last. */
static bool was_sent(struct child *child, uint64_t schema)
{
    int at = 0;
    while (at < SENT_SCHEMAS - 1 && child->sent[at] != schema) {
        at++;
    }
    bool sent = child->sent[at] == schema;
    memmove(&child->sent[1], &child->sent[0], (size_t)at * sizeof child->sent[0]);
    child->sent[0] = schema;
    return sent;
}

/* Appends a sealed batch, after its schema if that is new to the parent. */
static void put_batch(struct child *child, int kind, const struct tacho_batch *batch)
{
    int64_t number =
        (batch->numbered ? WIRE_BATCH_ORIGIN : 0) | (batch->truncated ? WIRE_BATCH_TRUNCATED : 0);
    if (!was_sent(child, batch->schema)) {
        size_t at = wire_begin(&child->out, WIRE_SCHEMA, 0);
        encode_schema(batch, &child->out);
        wire_end(&child->out, at);
    }
    size_t at = wire_begin(&child->out, kind, number);
    encode_msgpack(batch, &child->out);
    wire_end(&child->out, at);
}

static void forward_emitted(void *context, struct tacho_batch *batch)
{
    struct child *child = context;
    pthread_mutex_lock(&child->send_lock);
    put_batch(child, WIRE_EMITTED, batch);
    flush(child);
    pthread_mutex_unlock(&child->send_lock);
    batch_unref(batch);
}

static void forward_log(void *context, int level, const char *name, const char *text)
{
    struct child *child = context;
    (void)name; /* the parent knows it */
    pthread_mutex_lock(&child->send_lock);
    wire_put(&child->out, WIRE_LOG, level, text, strlen(text) + 1);
    flush(child);
    pthread_mutex_unlock(&child->send_lock);
}

static int refuse_call(void *context, const char *instance, const char *command,
                       const char *arguments_json, struct tacho_reply *reply, struct tacho_err *err)
{
    (void)context;
    (void)arguments_json;
    (void)reply;
    return tacho_fail(err, TACHO_UNSUPPORTED,
                      "an isolated instance cannot call '%s' of '%s': set isolate = false", command,
                      instance);
}

/* ---- running the plugin: on the main thread -------------------------------------------------- */

static int open_instance(struct child *child, struct tacho_err *err)
{
    struct isolate_request *request = &child->request;
    void *self = NULL;
    log_set_level((int)child->work.number);
    int code = isolate_request_init(request, child->payload.data,
                                    child->payload.data + child->payload.length, err);
    if (code != TACHO_OK || (code = module_load(request->path, &child->module, err)) != TACHO_OK) {
        return code;
    }
    child->services = (struct host_services){.fleet = request->fleet,
                                             .host = request->host,
                                             .state_dir = request->state_dir,
                                             .on_emit = forward_emitted,
                                             .on_call = refuse_call,
                                             .context = child};
    code =
        option_fill(child->module, request->options, request->option_count, &request->filled, err);
    if (code != TACHO_OK) {
        return code;
    }
    code = host_init(&child->host, &child->services, request->name, child->module, err);
    if (code != TACHO_OK) {
        option_free(child->module, request->filled);
        return code;
    }
    snprintf(child->host.interval, sizeof child->host.interval, "%s", request->interval);
    code = child->module->plugin.open(&child->host.table, request->filled, &self, err);
    if (code != TACHO_OK) {
        host_fini(&child->host);
        option_free(child->module, request->filled);
        return code;
    }
    pthread_mutex_lock(&child->lock);
    child->self = self;
    pthread_mutex_unlock(&child->lock);
    return TACHO_OK;
}

static void close_instance(struct child *child)
{
    pthread_mutex_lock(&child->lock);
    void *self = child->self;
    child->self = NULL; /* no cancel from here on */
    pthread_mutex_unlock(&child->lock);
    if (self) {
        child->module->plugin.close(self);
        host_fini(&child->host);
        option_free(child->module, child->request.filled);
    }
    isolate_request_fini(&child->request);
}

static void do_open(struct child *child)
{
    struct tacho_err err = {0};
    send_result(child, open_instance(child, &err), &err);
}

static void do_collect(struct child *child)
{
    struct tacho_err err = {0};
    struct tacho_batch *batch = child->host.table.batch_new(&child->host.table);
    if (!batch) {
        send_result(child, tacho_fail(&err, TACHO_RETRY, "no memory for a batch"), &err);
        return;
    }
    int code = child->module->plugin.collect(child->self, batch, child->work.number, &err);
    batch_seal(batch, 0);
    pthread_mutex_lock(&child->send_lock);
    put_batch(child, WIRE_BATCH, batch);
    if (child->out.failed) {
        buf_reset(&child->out);
        code = tacho_fail(&err, TACHO_RETRY, "the batch is too large to hand over");
    }
    put_result(child, code, &err);
    flush(child);
    pthread_mutex_unlock(&child->send_lock);
    batch_unref(batch);
}

static void do_call(struct child *child)
{
    struct tacho_err err = {0};
    struct buf answer;
    struct tacho_reply reply = {.out = &answer};
    const char *at = child->payload.data, *end = at + child->payload.length;
    const char *command = wire_take_text(&at, end);
    const char *arguments = wire_take_text(&at, end);
    buf_init(&answer, WIRE_LIMIT / 2);
    int code = command && arguments
                   ? child->module->plugin.call(child->self, command, arguments, &reply, &err)
                   : tacho_fail(&err, TACHO_FATAL, "a command came without its arguments");
    if (answer.failed) {
        code = tacho_fail(&err, TACHO_RETRY, "the answer of '%s' is too long", command);
    }
    pthread_mutex_lock(&child->send_lock);
    wire_put(&child->out, WIRE_REPLY, 0, answer.data, answer.failed ? 0 : answer.length);
    put_result(child, code, &err);
    flush(child);
    pthread_mutex_unlock(&child->send_lock);
    buf_fini(&answer);
}

static void do_work(struct child *child)
{
    struct tacho_err err = {0};
    const struct tacho_plugin *plugin = child->self ? &child->module->plugin : NULL;
    if (child->work.kind == WIRE_OPEN && !child->module) {
        do_open(child);
    } else if (child->work.kind == WIRE_COLLECT && plugin && plugin->collect) {
        do_collect(child);
    } else if (child->work.kind == WIRE_CALL && plugin && plugin->call) {
        do_call(child);
    } else {
        send_result(child, tacho_fail(&err, TACHO_UNSUPPORTED, "the plugin has no such function"),
                    &err);
    }
}

/* Waits for the next call; false when there is none any more. */
static bool take_work(struct child *child)
{
    pthread_mutex_lock(&child->lock);
    child->busy = false;
    while (!child->asked && !child->leaving) {
        pthread_cond_wait(&child->changed, &child->lock);
    }
    bool more = !child->leaving;
    if (more) {
        struct buf done = child->payload;
        child->work = child->next_work;
        child->payload = child->next_payload;
        child->next_payload = done;
        child->asked = false;
        child->busy = true;
    }
    pthread_mutex_unlock(&child->lock);
    return more;
}

static void work(struct child *child)
{
    while (take_work(child)) {
        do_work(child);
    }
    close_instance(child);
    pthread_mutex_lock(&child->lock);
    child->left = true;
    pthread_cond_broadcast(&child->changed);
    pthread_mutex_unlock(&child->lock);
}

/* ---- from the parent: on the second thread --------------------------------------------------- */

static void cancel(struct child *child)
{
    pthread_mutex_lock(&child->lock);
    if (child->self && child->busy && child->module->plugin.cancel) {
        child->module->plugin.cancel(child->self);
    }
    pthread_mutex_unlock(&child->lock);
}

/* Hands a frame to the main thread; false when one waits already: the parent asks one by one. */
static bool hand_over(struct child *child, const struct wire_head *head, const char *payload)
{
    pthread_mutex_lock(&child->lock);
    bool in_turn = !child->asked;
    if (in_turn) {
        child->next_work = *head;
        buf_reset(&child->next_payload);
        if (head->length > 0) {
            buf_put(&child->next_payload, payload, head->length);
        }
        child->asked = true;
        pthread_cond_broadcast(&child->changed);
    }
    pthread_mutex_unlock(&child->lock);
    return in_turn;
}

/* False when there is nothing more to hear. */
static bool hear(struct child *child, struct buf *in)
{
    struct wire_head head;
    const char *payload;
    int first;
    ssize_t got = wire_receive(child->fd, in);
    if (got <= 0) {
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    while ((first = wire_first(in, &head, &payload)) > 0) {
        if (head.kind == WIRE_CANCEL) {
            cancel(child);
        } else if (!hand_over(child, &head, payload)) {
            return false;
        }
        wire_drop(in, &head);
    }
    return first == 0;
}

/* Lets the main thread leave in good order, but does not wait for ever. */
static void leave(struct child *child)
{
    int64_t until_ns = clock_mono_ns() + LEAVE_NS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    if (getppid() != child->parent) {
        /* Nobody else is left to end what the plugin may have started. */
        signal(SIGTERM, SIG_IGN);
        (void)kill(0, SIGTERM);
    }
    cancel(child);
    pthread_mutex_lock(&child->lock);
    child->leaving = true;
    pthread_cond_broadcast(&child->changed);
    while (!child->left) {
        if (pthread_cond_clockwait(&child->changed, &child->lock, CLOCK_MONOTONIC, &until) != 0) {
            _exit(1);
        }
    }
    pthread_mutex_unlock(&child->lock);
}

static void *read_parent(void *argument)
{
    struct child *child = argument;
    struct buf in;
    bool more = true;
    buf_init(&in, WIRE_LIMIT + (1u << 20));
    while (more && getppid() == child->parent) {
        struct pollfd ready = {.fd = child->fd, .events = POLLIN};
        if (poll(&ready, 1, LOOK_MS) > 0) {
            more = hear(child, &in);
        }
    }
    buf_fini(&in);
    leave(child);
    return NULL;
}

static int start_reader(struct child *child, pthread_t *out)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(out, NULL, read_parent, child);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

int isolate_child_main(int fd)
{
    struct child child = {.fd = fd, .parent = getppid()};
    pthread_t reader;
    pthread_mutex_init(&child.send_lock, NULL);
    pthread_mutex_init(&child.lock, NULL);
    pthread_cond_init(&child.changed, NULL);
    buf_init(&child.out, WIRE_LIMIT);
    buf_init(&child.payload, WIRE_LIMIT);
    buf_init(&child.next_payload, WIRE_LIMIT);
    log_set_writer(forward_log, &child);
    if (start_reader(&child, &reader) != 0) {
        return 1;
    }
    work(&child);
    pthread_join(reader, NULL);
    log_set_writer(NULL, NULL);
    buf_fini(&child.payload);
    buf_fini(&child.next_payload);
    buf_fini(&child.out);
    pthread_cond_destroy(&child.changed);
    pthread_mutex_destroy(&child.lock);
    pthread_mutex_destroy(&child.send_lock);
    return 0;
}
