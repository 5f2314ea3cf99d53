/* SPDX-License-Identifier: MIT */
/*
 * A program that runs on. A thread of ours starts it, turns each of its lines into a batch that is
 * emitted at once, and starts it again when it ends; collect only says how it goes.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugins/exec/exec.h"

#define LONGEST_PAUSE_NS (60 * EXEC_NS_PER_S)
#define GOOD_RUN_NS (60 * EXEC_NS_PER_S) /* after so long the pause begins small again */
#define LOOK_NS EXEC_NS_PER_S

struct exec_stream {
    pthread_t thread;
    /* The thread's own. */
    int64_t window_ns; /* begin of the second that max_rate counts in */
    int64_t window_lines;

    pthread_mutex_t lock; /* protects what follows */
    bool running;
    int64_t heard_ns; /* last line, or the start of the program */
    uint64_t dropped; /* since collect looked */
    uint64_t bad_lines;
    struct tacho_err first; /* what is wrong with the first of them */
    struct tacho_err down;  /* why the program is not running */
};

/* ---- lines ----------------------------------------------------------------------------------- */

static void note_bad(struct exec_stream *stream, const struct tacho_err *err)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->bad_lines++ == 0) {
        stream->first = *err;
    }
    pthread_mutex_unlock(&stream->lock);
}

/* Counts a line; false when there were too many in this second. */
static bool admit(struct exec *exec)
{
    struct exec_stream *stream = exec->stream;
    int64_t now = exec->host->mono_ns();
    if (now - stream->window_ns >= EXEC_NS_PER_S) {
        stream->window_ns = now;
        stream->window_lines = 0;
    }
    bool ok = stream->window_lines++ < exec->options->max_rate;
    pthread_mutex_lock(&stream->lock);
    stream->heard_ns = now;
    stream->dropped += !ok;
    pthread_mutex_unlock(&stream->lock);
    return ok;
}

/* One line, one batch. */
static int emit_line(struct exec *exec, uint64_t number, const char *text, size_t length,
                     struct tacho_err *err)
{
    struct exec_record record;
    struct tacho_batch *batch = exec->host->batch_new(exec->host);
    if (!batch) {
        return tacho_fail(err, TACHO_RETRY, "line %" PRIu64 ": no memory for a batch", number);
    }
    int result = exec_record_init(&record, &exec->names, batch, err);
    if (result != TACHO_OK) {
        exec->host->discard(batch);
        return result;
    }
    result = exec_record_line(&record, number, text, length, err);
    if (exec_record_fini(&record) > 0) {
        (void)exec->host->emit(exec->host, batch);
    } else {
        exec->host->discard(batch);
    }
    return result;
}

static void on_line(void *context, uint64_t number, const char *text, size_t length)
{
    struct exec *exec = context;
    struct tacho_err err = {0};
    if (!admit(exec)) {
        return;
    }
    int result = text ? emit_line(exec, number, text, length, &err)
                      : tacho_fail(&err, TACHO_RETRY,
                                   "line %" PRIu64 ": longer than max_line (%" PRId64 " bytes)",
                                   number, exec->options->max_line_bytes);
    if (result != TACHO_OK) {
        note_bad(exec->stream, &err);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void note_running(struct exec *exec, bool running, const struct tacho_err *down)
{
    struct exec_stream *stream = exec->stream;
    pthread_mutex_lock(&stream->lock);
    stream->running = running;
    stream->heard_ns = exec->host->mono_ns();
    stream->down = *down;
    pthread_mutex_unlock(&stream->lock);
}

/* Runs the program until it ends; false when it is us who end. */
static bool run(struct exec *exec)
{
    struct exec_child child;
    struct tacho_err err = {0};
    if (exec_start(exec, &child, &err) != TACHO_OK) {
        note_running(exec, false, &err);
        return true;
    }
    note_running(exec, true, &err);
    enum exec_wait wait;
    do {
        wait = exec_pump(exec, &child, exec->host->mono_ns() + LOOK_NS);
    } while (wait == EXEC_READY || wait == EXEC_LATE);
    char text[64];
    int status = exec_child_stop(&child);
    (void)tacho_fail(&err, TACHO_RETRY, "%.100s ended with %s%s%s; it is started again",
                     exec->options->command.items[0], exec_child_status(status, text, sizeof text),
                     exec->complaint[0] ? ": " : "", exec->complaint);
    note_running(exec, false, &err);
    return wait != EXEC_WOKEN;
}

/* False when woken: it is time to end. */
static bool rest(const struct exec *exec, int64_t pause_ns)
{
    struct pollfd wake = {.fd = exec->wake, .events = POLLIN};
    return poll(&wake, 1, (int)(pause_ns / EXEC_NS_PER_MS)) <= 0;
}

static void *stream_main(void *context)
{
    struct exec *exec = context;
    int64_t pause_ns = exec->options->restart_ns;
    for (;;) {
        int64_t begin = exec->host->mono_ns();
        if (!run(exec)) {
            break;
        }
        if (exec->host->mono_ns() - begin >= GOOD_RUN_NS) {
            pause_ns = exec->options->restart_ns;
        }
        if (!rest(exec, pause_ns)) {
            break;
        }
        int64_t longest = exec->options->restart_ns > LONGEST_PAUSE_NS ? exec->options->restart_ns
                                                                       : LONGEST_PAUSE_NS;
        pause_ns = pause_ns * 2 < longest ? pause_ns * 2 : longest;
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The thread gets no signals: those are the daemon's affair. */
static int start_thread(struct exec *exec)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int problem = pthread_create(&exec->stream->thread, NULL, stream_main, exec);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return problem;
}

int exec_stream_open(struct exec *exec, struct tacho_err *err)
{
    exec->stream = calloc(1, sizeof *exec->stream);
    if (!exec->stream) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance of exec");
    }
    pthread_mutex_init(&exec->stream->lock, NULL);
    exec->stream->running = true; /* about to be; silence counts from here */
    exec->stream->heard_ns = exec->host->mono_ns();
    exec->out.on_line = on_line;
    exec->out.context = exec;
    int problem = start_thread(exec);
    if (problem) {
        pthread_mutex_destroy(&exec->stream->lock);
        free(exec->stream);
        exec->stream = NULL;
        return tacho_fail(err, TACHO_RETRY, "cannot start a thread for %.100s: %s",
                          exec->options->command.items[0], strerror(problem));
    }
    return TACHO_OK;
}

void exec_stream_close(struct exec *exec)
{
    uint64_t one = 1;
    ssize_t written = write(exec->wake, &one, sizeof one);
    (void)written; /* an eventfd at zero always takes a one */
    pthread_join(exec->stream->thread, NULL);
    pthread_mutex_destroy(&exec->stream->lock);
    free(exec->stream);
}

/* What went wrong with lines since the last look; called with the lock held. */
static int judge_lines(struct exec *exec, struct tacho_err *err)
{
    struct exec_stream *stream = exec->stream;
    const char *program = exec->options->command.items[0];
    int result = TACHO_NO_DATA; /* the lines were emitted already */
    if (stream->bad_lines > 0) {
        result = tacho_fail(err, TACHO_PARTIAL, "%.100s: %.220s (%" PRIu64 " bad lines)", program,
                            stream->first.text, stream->bad_lines);
    } else if (stream->dropped > 0) {
        result = tacho_fail(err, TACHO_PARTIAL,
                            "%.100s prints more than max_rate (%" PRId64
                            ") lines in a second: %" PRIu64 " dropped",
                            program, exec->options->max_rate, stream->dropped);
    }
    stream->bad_lines = 0;
    stream->dropped = 0;
    return result;
}

int exec_stream_collect(struct exec *exec, struct tacho_err *err)
{
    struct exec_stream *stream = exec->stream;
    int64_t limit = exec->options->silence_ns;
    int result;
    pthread_mutex_lock(&stream->lock);
    int64_t silence = exec->host->mono_ns() - stream->heard_ns;
    if (!stream->running) {
        result = tacho_fail(err, TACHO_RETRY, "%s", stream->down.text);
    } else if (limit > 0 && silence > limit) {
        result = tacho_fail(err, TACHO_RETRY, "%.100s has not printed a line for %" PRId64 " s",
                            exec->options->command.items[0], silence / EXEC_NS_PER_S);
    } else {
        result = judge_lines(exec, err);
    }
    pthread_mutex_unlock(&stream->lock);
    return result;
}
