/* SPDX-License-Identifier: MIT */
/* A plugin with an option of every type and in all three roles; for the tests of module, option and
 * conf. It measures nothing. */
#include "core/plugin.h"

#include <stdlib.h>

struct options {
    int32_t flag;
    int64_t count;
    double ratio;
    const char *label;
    int64_t timeout_ns;
    int64_t limit_bytes;
    struct tacho_strings paths;
    const char *mode;
    const char *token_file;
    const char *target;
    double ws_max_rate_hz;
    struct tacho_strings skip;
};

static const struct tacho_option options[] = {
    {"flag", TACHO_BOOL, 0, offsetof(struct options, flag), "true", 0, 0, NULL, "A switch."},
    {"count", TACHO_INT, 0, offsetof(struct options, count), "4", 1, 64, NULL, "How many."},
    {"ratio", TACHO_FLOAT, 0, offsetof(struct options, ratio), "0.5", 0, 1, NULL, "A part of 1."},
    {"label", TACHO_STRING, 0, offsetof(struct options, label), "none", 0, 0, NULL, "Any text."},
    {"timeout", TACHO_DURATION, 0, offsetof(struct options, timeout_ns), "500ms", 0.01, 3600, NULL,
     "How long to wait."},
    {"limit", TACHO_SIZE, 0, offsetof(struct options, limit_bytes), "8MiB", 1024, 1e18, NULL,
     "How much to keep."},
    {"paths", TACHO_STRINGS, 0, offsetof(struct options, paths), "[\"/a\", \"/b\"]", 0, 0, NULL,
     "Where to look."},
    {"mode", TACHO_CHOICE, 0, offsetof(struct options, mode), "fast", 0, 0, "fast|slow|steady",
     "How to do it."},
    {"token_file", TACHO_STRING, TACHO_SECRET, offsetof(struct options, token_file), NULL, 0, 0,
     NULL, "File that holds the token."},
    {"target", TACHO_STRING, TACHO_REQUIRED, offsetof(struct options, target), NULL, 0, 0, NULL,
     "What to talk to."},
    {"ws_max_rate_hz", TACHO_FLOAT, 0, offsetof(struct options, ws_max_rate_hz), "5", 0.1, 60, NULL,
     "Most messages in a second."},
    {"skip", TACHO_STRINGS, 0, offsetof(struct options, skip), NULL, 0, 0, NULL,
     "What to leave out."},
};

static const struct tacho_metric metrics[] = {
    {"gpu.power", "watts", TACHO_GAUGE, NULL, "Power that the board draws."},
    {"options.things", "", TACHO_COUNTER, NULL, "Things that were counted."},
};

static const struct tacho_command commands[] = {
    {"say", "text=TEXT", "Says a text."},
};

static int make(const struct tacho_host *host, const void *given, void **out_self,
                struct tacho_err *err)
{
    (void)host;
    (void)given;
    *out_self = malloc(1);
    return *out_self ? TACHO_OK : tacho_fail(err, TACHO_RETRY, "no memory");
}

static int collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    (void)self;
    (void)batch;
    (void)deadline_ns;
    (void)err;
    return TACHO_NO_DATA;
}

static int consume(void *self, const struct tacho_batch *batch, struct tacho_err *err)
{
    (void)self;
    (void)batch;
    (void)err;
    return TACHO_OK;
}

static int call(void *self, const char *command, const char *arguments_json,
                struct tacho_reply *reply, struct tacho_err *err)
{
    (void)self;
    (void)arguments_json;
    (void)reply;
    return tacho_fail(err, TACHO_UNSUPPORTED, "there is no command \"%s\"", command);
}

TACHO_EXPORT const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "options",
    .version = "1",
    .summary = "Every type of option",
    TACHO_OPTIONS(options, struct options),
    TACHO_METRICS(metrics),
    TACHO_COMMANDS(commands),
    .open = make,
    .close = free,
    .collect = collect,
    .consume = consume,
    .call = call,
};
