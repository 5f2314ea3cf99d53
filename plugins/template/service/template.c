/* SPDX-License-Identifier: MIT */
/*
 * template: counts the batches that pass, and tells on request. A starting point: a command table,
 * open, consume, call and close are all that a service needs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct tacho_command commands[] = {
    {.name = "count", .arguments = "", .help = "Tells how many batches came by."},
};

/* ---- one instance ---------------------------------------------------------------------------- */

struct self {
    const struct tacho_host *host;
    uint64_t batches;
};

static int open_instance(const struct tacho_host *host, const void *chosen, void **out_self,
                         struct tacho_err *err)
{
    struct self *self = calloc(1, sizeof *self);
    (void)chosen;
    if (!self) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    self->host = host;
    *out_self = self;
    return TACHO_OK;
}

static void close_instance(void *context)
{
    free(context);
}

static int consume(void *context, const struct tacho_batch *batch, struct tacho_err *err)
{
    struct self *self = context;
    (void)batch;
    (void)err;
    self->batches++;
    return TACHO_OK;
}

static int call(void *context, const char *command, const char *arguments_json,
                struct tacho_reply *reply, struct tacho_err *err)
{
    struct self *self = context;
    char json[64];
    (void)arguments_json;
    if (strcmp(command, "count") != 0) {
        return tacho_fail(err, TACHO_CONFIG, "there is no command '%s'", command);
    }
    int length = snprintf(json, sizeof json, "{\"batches\":%" PRIu64 "}", self->batches);
    self->host->reply(reply, json, (size_t)length);
    return TACHO_OK;
}

/* ---- what the host sees ---------------------------------------------------------------------- */

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "template",
    .version = "0.1",
    .summary = "Counts the batches that pass",
    TACHO_COMMANDS(commands),
    .open = open_instance,
    .close = close_instance,
    .consume = consume,
    .call = call,
};
