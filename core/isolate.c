/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of an isolated plugin; see isolate.h. A call sends its frame and waits; the
 * keeper's thread hears the answers, and passes on log lines and emitted batches as they come. How
 * the process lives and dies is the keeper's business.
 */
#include "core/isolate.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch.h"
#include "core/clock.h"
#include "core/decode.h"
#include "core/err.h"
#include "core/isolate_keeper.h"
#include "core/log.h"
#include "core/units.h"

#define OPEN_NS (10 * NS_PER_S)        /* loading a vendor's library may take seconds */
#define CALL_NS (60 * NS_PER_S)        /* commands have no deadline of their own */
#define GRACE_MIN_NS (100 * NS_PER_MS) /* from cancelling to ending the child: as long as the */
#define GRACE_MAX_NS (NS_PER_S)        /* call was allowed to take, within these */
#define CANCEL_NS (300 * NS_PER_MS)    /* the same after a cancel that came before the deadline */
#define REPLY_LIMIT (64u << 20)

struct isolate {
    const struct tacho_host *host;
    const struct conf_instance *conf;
    struct keeper *keeper;
    struct batch_pool *pool;       /* of batches as they were decoded */
    struct tacho_decoder *decoder; /* the keeper's thread's */

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t changed;
    bool busy;                 /* a call waits for its answer */
    bool answered;             /* and has it */
    int64_t deadline_ns;       /* of the call */
    int64_t cancel_ns;         /* when the call was cancelled, or 0 */
    int code;                  /* the answer: result, */
    char text[TACHO_ERR_TEXT]; /* sentence, */
    struct tacho_batch *batch; /* batch of a collect or NULL, */
    struct buf reply;          /* reply of a command */
    bool ended;                /* the child is gone or given up */
    char end_text[TACHO_ERR_TEXT];
};

/* ---- hearing the child: on the keeper's thread ----------------------------------------------- */

/* Called with the lock held. */
static void answer(struct isolate *self, int code, const char *text, size_t length)
{
    if (self->busy && !self->answered) {
        self->answered = true;
        self->code = code;
        snprintf(self->text, sizeof self->text, "%.*s", (int)length, text);
        pthread_cond_broadcast(&self->changed);
    }
}

/* The first sentence stays: what was heard before the end is its cause. */
static void hear_end(struct isolate *self, const char *text, size_t length)
{
    pthread_mutex_lock(&self->lock);
    if (!self->ended) {
        self->ended = true;
        snprintf(self->end_text, sizeof self->end_text, "%.*s", (int)length, text);
    }
    answer(self, TACHO_FATAL, self->end_text, strlen(self->end_text));
    pthread_mutex_unlock(&self->lock);
}

static bool hear_nonsense(struct isolate *self, const char *what)
{
    char text[TACHO_ERR_TEXT];
    int length = snprintf(text, sizeof text, "the child sent what cannot be read: %s", what);
    hear_end(self, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    return false;
}

static bool hear_result(struct isolate *self, const struct wire_head *head, const char *payload)
{
    if (head->number < TACHO_OK || head->number > TACHO_FATAL || head->length >= TACHO_ERR_TEXT) {
        return hear_nonsense(self, "a result that does not exist");
    }
    pthread_mutex_lock(&self->lock);
    answer(self, (int)head->number, payload, head->length);
    pthread_mutex_unlock(&self->lock);
    return true;
}

static bool hear_batch(struct isolate *self, const struct wire_head *head, const char *payload)
{
    struct tacho_err err = {0};
    struct tacho_batch *batch = NULL;
    if (decode_batch(self->decoder, payload, head->length, &batch, &err) != TACHO_OK) {
        return hear_nonsense(self, err.code == TACHO_OK ? "a batch without its schema" : err.text);
    }
    batch->numbered = head->number & WIRE_BATCH_ORIGIN;
    batch->truncated = head->number & WIRE_BATCH_TRUNCATED;
    if (head->kind == WIRE_EMITTED) {
        struct tacho_batch *fresh = self->host->batch_new(self->host);
        if (fresh) {
            batch_move(fresh, batch);
            (void)self->host->emit(self->host, fresh);
        }
        batch_discard(batch);
        return true;
    }
    pthread_mutex_lock(&self->lock);
    struct tacho_batch *unwanted = self->busy && !self->batch ? NULL : batch;
    if (!unwanted) {
        self->batch = batch;
    }
    pthread_mutex_unlock(&self->lock);
    batch_discard(unwanted);
    return true;
}

static bool hear_schema(struct isolate *self, const struct wire_head *head, const char *payload)
{
    struct tacho_err err = {0};
    if (decode_schema(self->decoder, payload, head->length, &err) != TACHO_OK) {
        return hear_nonsense(self, err.text);
    }
    return true;
}

static bool hear_log(struct isolate *self, const struct wire_head *head, const char *payload)
{
    if (head->length == 0 || payload[head->length - 1] != '\0') {
        return hear_nonsense(self, "a log line without end");
    }
    self->host->log(self->host, (int)head->number, payload);
    return true;
}

static bool hear_reply(struct isolate *self, const struct wire_head *head, const char *payload)
{
    pthread_mutex_lock(&self->lock);
    if (self->busy && !self->answered && head->length > 0) {
        buf_put(&self->reply, payload, head->length);
    }
    pthread_mutex_unlock(&self->lock);
    return true;
}

static bool hear(void *context, const struct wire_head *head, const char *payload)
{
    struct isolate *self = context;
    switch (head->kind) {
    case KEEPER_ENDED: hear_end(self, payload, head->length); return true;
    case WIRE_RESULT: return hear_result(self, head, payload);
    case WIRE_SCHEMA: return hear_schema(self, head, payload);
    case WIRE_BATCH:
    case WIRE_EMITTED: return hear_batch(self, head, payload);
    case WIRE_REPLY: return hear_reply(self, head, payload);
    case WIRE_LOG: return hear_log(self, head, payload);
    default: return hear_nonsense(self, "a message of unknown kind");
    }
}

/* ---- asking the child ------------------------------------------------------------------------ */

/* Begins a call; says how the child ended when there is none any more. */
static int begin(struct isolate *self, int64_t deadline_ns, struct tacho_err *err)
{
    int code = TACHO_OK;
    pthread_mutex_lock(&self->lock);
    if (self->ended) {
        code = tacho_fail(err, TACHO_FATAL, "%s", self->end_text);
    } else {
        self->busy = true;
        self->answered = false;
        self->deadline_ns = deadline_ns;
        self->cancel_ns = 0;
        buf_reset(&self->reply);
    }
    pthread_mutex_unlock(&self->lock);
    return code;
}

static void end(struct isolate *self)
{
    pthread_mutex_lock(&self->lock);
    self->busy = false;
    struct tacho_batch *unwanted = self->batch;
    self->batch = NULL;
    pthread_mutex_unlock(&self->lock);
    batch_discard(unwanted);
}

/* Waits for the answer until then, or for less once the call is cancelled; with the lock held. */
static bool wait_until(struct isolate *self, int64_t until_ns)
{
    while (!self->answered) {
        int64_t wake_ns = until_ns;
        if (self->cancel_ns && self->cancel_ns + CANCEL_NS < wake_ns) {
            wake_ns = self->cancel_ns + CANCEL_NS;
        }
        if (clock_mono_ns() >= wake_ns) {
            return false;
        }
        struct timespec wake = {.tv_sec = wake_ns / NS_PER_S, .tv_nsec = wake_ns % NS_PER_S};
        (void)pthread_cond_clockwait(&self->changed, &self->lock, CLOCK_MONOTONIC, &wake);
    }
    return true;
}

/* A child that does not answer is cancelled at the deadline, and ended after a grace. */
static int wait_answer(struct isolate *self, const char *what, int64_t deadline_ns,
                       struct tacho_err *err)
{
    int64_t begin_ns = clock_mono_ns();
    int64_t grace_ns = deadline_ns - begin_ns;
    grace_ns = grace_ns < GRACE_MIN_NS ? GRACE_MIN_NS : grace_ns;
    grace_ns = grace_ns > GRACE_MAX_NS ? GRACE_MAX_NS : grace_ns;
    pthread_mutex_lock(&self->lock);
    bool answered = wait_until(self, deadline_ns);
    if (!answered) {
        keeper_cancel(self->keeper);
        answered = wait_until(self, deadline_ns + grace_ns);
    }
    int code = self->code;
    if (answered && code != TACHO_OK && self->text[0]) {
        tacho_fail(err, code, "%s", self->text);
    }
    pthread_mutex_unlock(&self->lock);
    if (!answered) {
        char waited[32];
        int64_t ms = (clock_mono_ns() - begin_ns) / NS_PER_MS;
        units_format_duration(ms * NS_PER_MS, waited, sizeof waited);
        code =
            tacho_fail(err, TACHO_FATAL,
                       "child %d did not answer '%s' for %s, though cancelled: it is being ended",
                       (int)keeper_pid(self->keeper), what, waited);
        keeper_end(self->keeper);
    }
    return code;
}

/* One exchange, from the frame to the answer. A failing send is not looked at: a child that is gone
 * is heard of by its end, with the reason, and one that reads nothing does not answer either. */
static int ask(struct isolate *self, const char *what, const struct buf *frame, int64_t deadline_ns,
               struct tacho_err *err)
{
    int code = begin(self, deadline_ns, err);
    if (code != TACHO_OK) {
        return code;
    }
    (void)keeper_send(self->keeper, frame->data, frame->length, deadline_ns);
    return wait_answer(self, what, deadline_ns, err);
}

/* ---- the plugin's functions ------------------------------------------------------------------ */

static void put_options(struct buf *out, const struct conf_instance *conf)
{
    for (uint32_t i = 0; i < conf->given_count; i++) {
        const struct option_text *given = &conf->given[i];
        char count[16];
        snprintf(count, sizeof count, "%u", given->count);
        wire_put_text(out, given->name);
        wire_put_text(out, count);
        for (uint32_t n = 0; n < given->count; n++) {
            wire_put_text(out, given->values[n]);
        }
    }
}

static void put_open(struct buf *out, const struct isolate *self)
{
    static const int settings[] = {TACHO_SETTING_INSTANCE, TACHO_SETTING_FLEET, TACHO_SETTING_HOST,
                                   TACHO_SETTING_STATE_DIR, TACHO_SETTING_INTERVAL};
    size_t at = wire_begin(out, WIRE_OPEN, log_level());
    wire_put_text(out, self->conf->module->path);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        const char *text = self->host->setting(self->host, settings[i]);
        wire_put_text(out, text ? text : "");
    }
    put_options(out, self->conf);
    wire_end(out, at);
}

static void isolate_close(void *context)
{
    struct isolate *self = context;
    keeper_free(self->keeper);
    if (self->decoder) {
        decoder_free(self->decoder);
    }
    end(self);
    batch_pool_free(self->pool);
    buf_fini(&self->reply);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    free(self);
}

static int start_child(struct isolate *self, struct tacho_err *err)
{
    self->pool = batch_pool_new("", "", self->conf->name, 0, NULL);
    self->decoder = self->pool ? decoder_new(self->pool) : NULL;
    if (!self->decoder) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an isolated plugin");
    }
    int code = keeper_new(self->conf->name, self->conf->kill, hear, self, &self->keeper, err);
    if (code != TACHO_OK) {
        return code;
    }
    struct buf frame;
    buf_init(&frame, WIRE_LIMIT);
    put_open(&frame, self);
    code = frame.failed ? tacho_fail(err, TACHO_CONFIG, "the options are too long")
                        : ask(self, "open", &frame, clock_mono_ns() + OPEN_NS, err);
    buf_fini(&frame);
    end(self);
    return code;
}

static int isolate_open(const struct tacho_host *host, const void *options, void **out_self,
                        struct tacho_err *err)
{
    struct isolate *self = calloc(1, sizeof *self);
    if (!self) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an isolated plugin");
    }
    self->host = host;
    self->conf = options;
    buf_init(&self->reply, REPLY_LIMIT);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    int code = start_child(self, err);
    if (code != TACHO_OK) {
        isolate_close(self);
        return code;
    }
    *out_self = self;
    return TACHO_OK;
}

static int isolate_collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                           struct tacho_err *err)
{
    struct isolate *self = context;
    struct wire_head head = {.kind = WIRE_COLLECT, .number = deadline_ns};
    struct buf frame = {.data = (char *)&head, .length = sizeof head};
    int code = ask(self, "collect", &frame, deadline_ns, err);
    pthread_mutex_lock(&self->lock);
    struct tacho_batch *got = code == TACHO_FATAL ? NULL : self->batch;
    if (got) {
        self->batch = NULL;
    }
    pthread_mutex_unlock(&self->lock);
    if (got) {
        batch_move(batch, got);
        batch_discard(got);
    }
    end(self);
    return code;
}

static int isolate_call(void *context, const char *command, const char *arguments_json,
                        struct tacho_reply *reply, struct tacho_err *err)
{
    struct isolate *self = context;
    struct buf frame;
    buf_init(&frame, WIRE_LIMIT);
    size_t at = wire_begin(&frame, WIRE_CALL, 0);
    wire_put_text(&frame, command);
    wire_put_text(&frame, arguments_json);
    wire_end(&frame, at);
    int code = frame.failed ? tacho_fail(err, TACHO_CONFIG, "the arguments are too long")
                            : ask(self, command, &frame, clock_mono_ns() + CALL_NS, err);
    buf_fini(&frame);
    end(self); /* from here on nobody adds to the reply */
    if (self->reply.length > 0 && !self->reply.failed) {
        self->host->reply(reply, self->reply.data, self->reply.length);
    }
    return code;
}

static void isolate_cancel(void *context)
{
    struct isolate *self = context;
    pthread_mutex_lock(&self->lock);
    int64_t now_ns = clock_mono_ns();
    if (self->busy && self->cancel_ns == 0 && now_ns < self->deadline_ns) {
        self->cancel_ns = now_ns;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    keeper_cancel(self->keeper);
}

int isolate_child_pid(void *context)
{
    struct isolate *self = context;
    return (int)keeper_pid(self->keeper);
}

uint64_t isolate_child_exits(void *context)
{
    struct isolate *self = context;
    return keeper_exits(self->keeper);
}

const struct tacho_plugin isolate_plugin = {
    TACHO_PLUGIN_HEADER,        .name = "isolate",
    .version = PACKAGE_VERSION, .summary = "Runs another plugin in a child process",
    .open = isolate_open,       .close = isolate_close,
    .collect = isolate_collect, .call = isolate_call,
    .cancel = isolate_cancel,
};
