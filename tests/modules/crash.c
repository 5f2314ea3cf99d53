/* SPDX-License-Identifier: MIT */
/*
 * A provider that behaves badly on demand, for the tests of isolation: from its nth collect on it
 * does what `behaviour` says, as long as the file `unless` is not there.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/plugin.h"

struct options {
    const char *behaviour;
    int64_t at;
    const char *unless;
    int64_t entities;
};

static const struct tacho_option options[] = {
    {.name = "behaviour",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct options, behaviour),
     .preset = "none",
     .choices = "none|segfault|exit|loop|stubborn|sleep|leave|huge|emit|log|fail",
     .help = "What to do."},
    {.name = "at",
     .type = TACHO_INT,
     .offset = offsetof(struct options, at),
     .preset = "1",
     .help = "From which collect on; 0: in open."},
    {.name = "unless",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, unless),
     .help = "Behave well while this file is there."},
    {.name = "entities",
     .type = TACHO_INT,
     .offset = offsetof(struct options, entities),
     .preset = "1",
     .help = "Entities in a batch."},
};

enum { COLLECTS, TEXT };
static const struct tacho_metric metrics[] = {
    [COLLECTS] = {.name = "crash.collects", .unit = "", .kind = TACHO_COUNTER, .help = "Calls."},
    [TEXT] = {.name = "crash.text", .unit = "", .kind = TACHO_INFO, .help = "A text."},
};

static const struct tacho_command commands[] = {
    {.name = "echo", .arguments = "anything", .help = "Answers with its arguments."},
};

struct self {
    const struct tacho_host *host;
    const struct options *options;
    int64_t collects;
    atomic_bool cancelled;
};

static void crash(void)
{
    volatile int *volatile nowhere = (volatile int *)(uintptr_t)64;
    *nowhere = 1;
}

/* Deaf to everything except the file. */
static void loop(const struct self *self)
{
    while (!self->options->unless[0] || access(self->options->unless, F_OK) != 0) {
        usleep(1000);
    }
}

static void sleep_until_cancelled(struct self *self)
{
    while (!atomic_load(&self->cancelled)) {
        usleep(1000);
    }
}

/* A child that holds on to all descriptors, ignores SIGTERM and never ends. */
static void leave_child(void)
{
    if (fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;) {
            pause();
        }
    }
}

static void fill(struct self *self, struct tacho_batch *batch, int64_t entities)
{
    const struct tacho_host *host = self->host;
    for (int64_t i = 0; i < entities; i++) {
        char key[32];
        snprintf(key, sizeof key, "crash-%lld", (long long)i);
        host->entity(batch, "thing", key, -1, 0);
        host->label(batch, "index", key);
        host->i64(batch, COLLECTS, self->collects);
        host->text(batch, TEXT, "The quick brown fox jumps over the lazy dog.");
    }
}

static void emit(struct self *self)
{
    struct tacho_batch *batch = self->host->batch_new(self->host);
    fill(self, batch, 1);
    self->host->event(batch, "crash", TACHO_SEVERITY_WARNING, "emitted");
    self->host->emit(self->host, batch);
}

static int misbehave(struct self *self, struct tacho_batch *batch, struct tacho_err *err)
{
    const char *behaviour = self->options->behaviour;
    if (strcmp(behaviour, "segfault") == 0) {
        crash();
    } else if (strcmp(behaviour, "exit") == 0) {
        _exit(3);
    } else if (strcmp(behaviour, "loop") == 0) {
        loop(self);
    } else if (strcmp(behaviour, "stubborn") == 0) {
        signal(SIGTERM, SIG_IGN);
        loop(self);
    } else if (strcmp(behaviour, "sleep") == 0) {
        sleep_until_cancelled(self);
        return tacho_fail(err, TACHO_RETRY, "cancelled");
    } else if (strcmp(behaviour, "leave") == 0) {
        leave_child();
        _exit(4);
    } else if (strcmp(behaviour, "huge") == 0 && batch) {
        fill(self, batch, 20000);
    } else if (strcmp(behaviour, "emit") == 0) {
        emit(self);
    } else if (strcmp(behaviour, "log") == 0) {
        tacho_logf(self->host, TACHO_LOG_WARN, "collect %lld", (long long)self->collects);
    } else if (strcmp(behaviour, "fail") == 0) {
        return tacho_fail(err, TACHO_DEVICE_LOST, "thing %lld is gone", (long long)self->collects);
    }
    return TACHO_OK;
}

static int behave(struct self *self, struct tacho_batch *batch, struct tacho_err *err)
{
    const struct options *chosen = self->options;
    if (self->collects < chosen->at || (chosen->unless[0] && access(chosen->unless, F_OK) == 0)) {
        return TACHO_OK;
    }
    return misbehave(self, batch, err);
}

static void crash_close(void *self)
{
    free(self);
}

static int crash_open(const struct tacho_host *host, const void *chosen, void **out_self,
                      struct tacho_err *err)
{
    struct self *self = calloc(1, sizeof *self);
    if (!self) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    self->host = host;
    self->options = chosen;
    int code = self->options->at == 0 ? behave(self, NULL, err) : TACHO_OK;
    if (code != TACHO_OK) {
        crash_close(self);
        return code;
    }
    *out_self = self;
    return TACHO_OK;
}

static int crash_collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                         struct tacho_err *err)
{
    struct self *self = context;
    (void)deadline_ns;
    atomic_store(&self->cancelled, false);
    self->collects++;
    fill(self, batch, self->options->entities);
    return behave(self, batch, err);
}

static int crash_call(void *context, const char *command, const char *arguments_json,
                      struct tacho_reply *reply, struct tacho_err *err)
{
    struct self *self = context;
    if (strcmp(command, "echo") != 0) {
        return tacho_fail(err, TACHO_CONFIG, "no command '%s'", command);
    }
    self->host->reply(reply, arguments_json, strlen(arguments_json));
    return TACHO_OK;
}

static void crash_cancel(void *context)
{
    struct self *self = context;
    atomic_store(&self->cancelled, true);
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "crash",
    .version = "1",
    .summary = "Behaves badly on demand.",
    TACHO_OPTIONS(options, struct options),
    TACHO_METRICS(metrics),
    TACHO_COMMANDS(commands),
    .open = crash_open,
    .close = crash_close,
    .collect = crash_collect,
    .call = crash_call,
    .cancel = crash_cancel,
};
