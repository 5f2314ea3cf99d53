/* SPDX-License-Identifier: MIT */
/*
 * A provider with nothing wrong, for modules that each have one thing wrong;
 * tests/e2e/plugin-check.sh builds them and compares what `tacho plugin check` finds with the line
 * "Fails:" of each.
 */
#ifndef TACHO_TESTS_MODULES_BAD_H
#define TACHO_TESTS_MODULES_BAD_H

#include <stdlib.h>

#include "core/plugin.h"

struct self {
    const struct tacho_host *host;
    int number;
};

static TACHO_UNUSED int good_open(const struct tacho_host *host, const void *options,
                                  void **out_self, struct tacho_err *err)
{
    struct self *self = calloc(1, sizeof *self);
    (void)options;
    if (!self) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    self->host = host;
    *out_self = self;
    return TACHO_OK;
}

static TACHO_UNUSED void good_close(void *self)
{
    free(self);
}

static TACHO_UNUSED int good_collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                                     struct tacho_err *err)
{
    struct self *self = context;
    (void)deadline_ns;
    (void)err;
    self->host->entity(batch, "thing", "one", -1, 0);
    self->host->i64(batch, 0, self->number++);
    return TACHO_OK;
}

static const struct tacho_metric good_metrics[] = {
    {.name = "bad.number", .unit = "", .kind = TACHO_COUNTER, .help = "Calls."},
};

/* MODULE_NAME comes from the command line: the file's name. */
#define BAD_PLUGIN(...)                                                                    \
    const struct tacho_plugin tacho_plugin_v1 = {TACHO_PLUGIN_HEADER, .name = MODULE_NAME, \
                                                 .version = "1", .summary = "Bad.", __VA_ARGS__}
#define GOOD_METRICS TACHO_METRICS(good_metrics)

#endif
