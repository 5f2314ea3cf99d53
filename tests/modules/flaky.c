/* SPDX-License-Identifier: MIT */
/*
 * A plugin of all roles that does what a file says, read anew at each call. Its first word is the
 * role that it is meant for (collect, consume, call, open, flush, all), its second what to do: ok,
 * no_data, partial, retry, device_lost, unsupported, config, fatal; hang (until the file says
 * something else, deaf to cancel), wait (the same, but ends when cancelled), slow (200 ms, then
 * ok), segv, loop, abort. No file, or another role: ok.
 */
#include "core/plugin.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct options {
    const char *file;
};

struct flaky {
    const struct tacho_host *host;
    const struct options *options;
    atomic_int cancelled;
    int64_t collected, consumed;
};

enum { COLLECTED, CONSUMED };

static const struct tacho_option option_table[] = {
    {.name = "file",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, file),
     .help = "File that says what to do"},
};

static const struct tacho_metric metric_table[] = {
    {"flaky.collected", "", TACHO_COUNTER, NULL, "Calls of collect"},
    {"flaky.consumed", "", TACHO_COUNTER, NULL, "Batches consumed"},
};

static const struct tacho_command command_table[] = {
    {"echo", "any", "Answers with its arguments"},
};

/* The word for this role, or "ok". */
static void read_mode(const struct options *options, const char *role, char out[32])
{
    char text[64] = "", meant[32] = "", word[32] = "";
    int fd = open(options->file, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t length = read(fd, text, sizeof text - 1);
        text[length > 0 ? length : 0] = '\0';
        close(fd);
    }
    memcpy(out, "ok", 3);
    if (sscanf(text, "%31s %31s", meant, word) == 2 &&
        (strcmp(meant, role) == 0 || strcmp(meant, "all") == 0)) {
        memcpy(out, word, sizeof word);
    }
}

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static int result_of(const char *word)
{
    static const char *const names[] = {"ok",          "no_data",     "partial", "retry",
                                        "device_lost", "unsupported", "config",  "fatal"};
    for (int i = 0; i < (int)TACHO_COUNT(names); i++) {
        if (strcmp(names[i], word) == 0) {
            return i;
        }
    }
    return TACHO_OK;
}

static void crash(const char *word)
{
    if (strcmp(word, "segv") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(word, "abort") == 0) {
        abort();
    }
    while (strcmp(word, "loop") == 0) {
        __asm__ volatile("");
    }
}

static int obey(const struct options *options, atomic_int *cancelled, const char *role,
                struct tacho_err *err)
{
    char word[32];
    read_mode(options, role, word);
    crash(word);
    if (strcmp(word, "slow") == 0) {
        pause_ms(200);
    }
    while (strcmp(word, "hang") == 0 ||
           (strcmp(word, "wait") == 0 && !(cancelled && atomic_exchange(cancelled, 0)))) {
        pause_ms(5);
        read_mode(options, role, word);
    }
    int result = result_of(word);
    return result == TACHO_OK ? TACHO_OK
                              : tacho_fail(err, result, "%s was told to be %s", role, word);
}

static int flaky_open(const struct tacho_host *host, const void *given, void **out_self,
                      struct tacho_err *err)
{
    int result = obey(given, NULL, "open", err);
    struct flaky *flaky = result == TACHO_OK ? calloc(1, sizeof *flaky) : NULL;
    if (!flaky) {
        return result == TACHO_OK ? tacho_fail(err, TACHO_RETRY, "no memory") : result;
    }
    flaky->host = host;
    flaky->options = given;
    *out_self = flaky;
    return TACHO_OK;
}

static int flaky_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                         struct tacho_err *err)
{
    struct flaky *flaky = self;
    (void)deadline_ns;
    flaky->collected++;
    int result = obey(flaky->options, &flaky->cancelled, "collect", err);
    flaky->host->entity(batch, "flaky", "flaky", -1, 0);
    flaky->host->i64(batch, COLLECTED, flaky->collected);
    flaky->host->i64(batch, CONSUMED, flaky->consumed);
    return result;
}

static int flaky_consume(void *self, const struct tacho_batch *batch, struct tacho_err *err)
{
    struct flaky *flaky = self;
    (void)batch;
    int result = obey(flaky->options, &flaky->cancelled, "consume", err);
    flaky->consumed += result == TACHO_OK;
    return result;
}

static int flaky_flush(void *self, struct tacho_err *err)
{
    struct flaky *flaky = self;
    return obey(flaky->options, &flaky->cancelled, "flush", err);
}

static int flaky_call(void *self, const char *command, const char *arguments_json,
                      struct tacho_reply *reply, struct tacho_err *err)
{
    struct flaky *flaky = self;
    if (strcmp(command, "echo") != 0) {
        return tacho_fail(err, TACHO_UNSUPPORTED, "there is no command %s", command);
    }
    int result = obey(flaky->options, &flaky->cancelled, "call", err);
    if (result == TACHO_OK) {
        flaky->host->reply(reply, arguments_json, strlen(arguments_json));
    }
    return result;
}

static void flaky_cancel(void *self)
{
    struct flaky *flaky = self;
    atomic_store(&flaky->cancelled, 1);
}

TACHO_EXPORT const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "flaky",
    .version = "1",
    .summary = "Does what a file says",
    TACHO_OPTIONS(option_table, struct options),
    TACHO_METRICS(metric_table),
    TACHO_COMMANDS(command_table),
    .open = flaky_open,
    .close = free,
    .collect = flaky_collect,
    .consume = flaky_consume,
    .flush = flaky_flush,
    .call = flaky_call,
    .cancel = flaky_cancel,
};
