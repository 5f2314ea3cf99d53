/* SPDX-License-Identifier: MIT */
/*
 * Provider: plays a recorded log again. Each batch is emitted as it was, with its own origin,
 * number and time, marked as replayed; the monotonic clock and the option `speed` say when.
 */
#include "plugins/replay/replay.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "core/plugin.h"

#define NS_PER_S INT64_C(1000000000)

struct replay_options {
    const char *path, *from, *to;
    double speed;
    int32_t loop;
};

struct replay {
    const struct tacho_host *host;
    const struct replay_options *options;
    struct tacho_cursor *cursor;
    struct tacho_batch *next; /* read and not yet due */
    int64_t next_wall_ns;
    int64_t from_ns, to_ns;
    int64_t begin_mono_ns, begin_wall_ns; /* when the first batch of this round was due */
    uint64_t round_count;                 /* batches emitted in this round */
    pthread_mutex_t lock;                 /* protects cancelled */
    pthread_cond_t wake;
    bool cancelled;
};

#define AT(member) .offset = offsetof(struct replay_options, member)

static const struct tacho_option option_table[] = {
    {.name = "path",
     .type = TACHO_STRING,
     .flags = TACHO_REQUIRED,
     AT(path),
     .help = "Folder of a log, or one of its files"},
    {.name = "speed",
     .type = TACHO_FLOAT,
     AT(speed),
     .preset = "1.0",
     .minimum = 0,
     .maximum = 1e6,
     .help = "1 is as it was, 10 ten times as fast, 0 as fast as possible"},
    {.name = "from",
     .type = TACHO_STRING,
     AT(from),
     .help = "Begin at this time: 2026-01-31T12:00:00Z, or @SECONDS since 1970"},
    {.name = "to", .type = TACHO_STRING, AT(to), .help = "End at this time"},
    {.name = "loop",
     .type = TACHO_BOOL,
     AT(loop),
     .preset = "false",
     .help = "Begin again at the end"},
};

/* ---- life ------------------------------------------------------------------------------------ */

static int read_times(struct replay *replay, struct tacho_err *err)
{
    const struct replay_options *options = replay->options;
    replay->from_ns = INT64_MIN;
    replay->to_ns = INT64_MAX;
    if (*options->from && replay_parse_time(options->from, &replay->from_ns) != 0) {
        return tacho_fail(err, TACHO_CONFIG, "from: \"%s\" is no time", options->from);
    }
    if (*options->to && replay_parse_time(options->to, &replay->to_ns) != 0) {
        return tacho_fail(err, TACHO_CONFIG, "to: \"%s\" is no time", options->to);
    }
    if (replay->from_ns > replay->to_ns) {
        return tacho_fail(err, TACHO_CONFIG, "from: \"%s\" lies behind to: \"%s\"", options->from,
                          options->to);
    }
    return TACHO_OK;
}

static int begin_round(struct replay *replay, struct tacho_err *err)
{
    replay->round_count = 0;
    return replay->host->cursor_seek(replay->cursor, replay->from_ns, err);
}

static void close_replay(void *self)
{
    struct replay *replay = self;
    if (replay->next) {
        replay->host->discard(replay->next);
    }
    if (replay->cursor) {
        replay->host->cursor_close(replay->cursor);
    }
    pthread_cond_destroy(&replay->wake);
    pthread_mutex_destroy(&replay->lock);
    free(replay);
}

static int open_replay(const struct tacho_host *host, const void *options, void **out_self,
                       struct tacho_err *err)
{
    struct replay *replay = calloc(1, sizeof *replay);
    if (!replay) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&replay->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&replay->lock, NULL);
    replay->host = host;
    replay->options = options;
    int result = read_times(replay, err);
    if (result == TACHO_OK) {
        result = host->cursor_open(host, replay->options->path, &replay->cursor, err);
    }
    if (result == TACHO_OK) {
        result = begin_round(replay, err);
    }
    if (result != TACHO_OK) {
        close_replay(replay);
        return result;
    }
    *out_self = replay;
    return TACHO_OK;
}

static void cancel(void *self)
{
    struct replay *replay = self;
    pthread_mutex_lock(&replay->lock);
    replay->cancelled = true;
    pthread_cond_broadcast(&replay->wake);
    pthread_mutex_unlock(&replay->lock);
}

/* ---- playing --------------------------------------------------------------------------------- */

/* Sleeps until then; false when cancelled. */
static bool wait_until(struct replay *replay, int64_t mono_ns)
{
    struct timespec until = {.tv_sec = (time_t)(mono_ns / NS_PER_S),
                             .tv_nsec = (long)(mono_ns % NS_PER_S)};
    int waited = 0;
    pthread_mutex_lock(&replay->lock);
    while (!replay->cancelled && waited == 0 && replay->host->mono_ns() < mono_ns) {
        waited = pthread_cond_timedwait(&replay->wake, &replay->lock, &until);
    }
    bool going = !replay->cancelled;
    pthread_mutex_unlock(&replay->lock);
    return going;
}

/* Makes sure that a batch is at hand. TACHO_NO_DATA at the end. */
static int look_ahead(struct replay *replay, struct tacho_err *err)
{
    if (replay->next) {
        return TACHO_OK;
    }
    struct tacho_batch *batch;
    int result = replay->host->cursor_next(replay->cursor, &batch, err);
    if (result != TACHO_OK) {
        return result;
    }
    struct tacho_batch_info info;
    replay->host->info(batch, &info);
    if (info.wall_ns > replay->to_ns) {
        replay->host->discard(batch);
        return TACHO_NO_DATA;
    }
    replay->next = batch;
    replay->next_wall_ns = info.wall_ns;
    return TACHO_OK;
}

/* When the batch at hand has to go out. */
static int64_t due_ns(struct replay *replay)
{
    if (replay->round_count == 0) {
        replay->begin_mono_ns = replay->host->mono_ns();
        replay->begin_wall_ns = replay->next_wall_ns;
    }
    if (replay->options->speed <= 0) {
        return replay->begin_mono_ns;
    }
    double after_ns =
        (double)(replay->next_wall_ns - replay->begin_wall_ns) / replay->options->speed;
    return replay->begin_mono_ns + (int64_t)after_ns;
}

static void emit_next(struct replay *replay)
{
    struct tacho_batch *batch = replay->next;
    replay->next = NULL;
    replay->round_count++;
    replay->host->mark(batch, TACHO_REPLAYED);
    replay->host->emit(replay->host, batch);
}

/* At the end of the log: TACHO_OK when it begins again. */
static int at_end(struct replay *replay, struct tacho_err *err)
{
    if (!replay->options->loop || replay->round_count == 0) {
        return tacho_fail(err, TACHO_NO_DATA, "end of the log %s", replay->options->path);
    }
    return begin_round(replay, err);
}

/* Emits what is due, and waits for what will be due in the first half of the time given. The batch
 * that the host hands over stays empty, hence never TACHO_OK. */
static int collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    struct replay *replay = self;
    (void)batch;
    pthread_mutex_lock(&replay->lock);
    replay->cancelled = false;
    pthread_mutex_unlock(&replay->lock);
    int64_t now = replay->host->mono_ns();
    int64_t until = now + (deadline_ns > now ? (deadline_ns - now) / 2 : 0);
    do {
        int result = look_ahead(replay, err);
        if (result == TACHO_NO_DATA) {
            result = at_end(replay, err);
            if (result == TACHO_OK) {
                continue;
            }
        }
        if (result != TACHO_OK) {
            return result;
        }
        int64_t due = due_ns(replay);
        if (due > until || !wait_until(replay, due)) {
            break;
        }
        emit_next(replay);
    } while (replay->host->mono_ns() < until);
    return TACHO_NO_DATA;
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "replay",
    .version = "0.1.0",
    .summary = "Plays a recorded log again, at any speed",
    TACHO_OPTIONS(option_table, struct replay_options),
    .open = open_replay,
    .close = close_replay,
    .collect = collect,
    .cancel = cancel,
};
