/* SPDX-License-Identifier: MIT */
/* Three plugins with one role each and no options: tick collects, drain consumes, clerk answers. */
#include "core/plugin.h"

#include <stdlib.h>

static int make(const struct tacho_host *host, const void *given, void **out_self,
                struct tacho_err *err)
{
    (void)host;
    (void)given;
    *out_self = malloc(1);
    return *out_self ? TACHO_OK : tacho_fail(err, TACHO_RETRY, "no memory");
}

#ifdef TICK
#define ROLE_NAME "tick"
#define ROLE .collect = collect
static int collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    (void)self;
    (void)batch;
    (void)deadline_ns;
    (void)err;
    return TACHO_NO_DATA;
}
#endif

#ifdef DRAIN
#define ROLE_NAME "drain"
#define ROLE .consume = consume
static int consume(void *self, const struct tacho_batch *batch, struct tacho_err *err)
{
    (void)self;
    (void)batch;
    (void)err;
    return TACHO_OK;
}
#endif

#ifdef CLERK
#define ROLE_NAME "clerk"
#define ROLE .call = call
static int call(void *self, const char *command, const char *arguments_json,
                struct tacho_reply *reply, struct tacho_err *err)
{
    (void)self;
    (void)arguments_json;
    (void)reply;
    return tacho_fail(err, TACHO_UNSUPPORTED, "there is no command \"%s\"", command);
}
#endif

TACHO_EXPORT const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER, .name = ROLE_NAME, .version = "1", .summary = "One role",
    .open = make,        .close = free,     ROLE,
};
