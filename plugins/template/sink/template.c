/* SPDX-License-Identifier: MIT */
/*
 * template: each batch as one JSON line in a file. A starting point: an options struct, open,
 * consume, flush and close are all that a sink needs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/plugin.h"

/* ---- tables ---------------------------------------------------------------------------------- */

struct options {
    const char *path;
};

static const struct tacho_option options[] = {
    {.name = "path",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, path),
     .preset = "/dev/null",
     .help = "File to append to; made when it is missing."},
};

/* ---- one instance ---------------------------------------------------------------------------- */

struct self {
    const struct tacho_host *host;
    const struct options *options;
    FILE *file;
};

static int open_instance(const struct tacho_host *host, const void *chosen, void **out_self,
                         struct tacho_err *err)
{
    struct self *self = calloc(1, sizeof *self);
    if (!self) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    self->host = host;
    self->options = chosen;
    self->file = fopen(self->options->path, "ae");
    if (!self->file) {
        int code = tacho_fail(err, TACHO_RETRY, "cannot open '%s' to append: %s",
                              self->options->path, strerror(errno));
        free(self);
        return code;
    }
    *out_self = self;
    return TACHO_OK;
}

static void close_instance(void *context)
{
    struct self *self = context;
    fclose(self->file);
    free(self);
}

static int consume(void *context, const struct tacho_batch *batch, struct tacho_err *err)
{
    struct self *self = context;
    const void *json;
    size_t length;
    if (self->host->encode(batch, TACHO_JSON, &json, &length) != TACHO_OK) {
        return tacho_fail(err, TACHO_RETRY, "no memory for a line");
    }
    if (fwrite(json, 1, length, self->file) != length || fputc('\n', self->file) == EOF) {
        return tacho_fail(err, TACHO_RETRY, "cannot write to '%s': %s", self->options->path,
                          strerror(errno));
    }
    return TACHO_OK;
}

static int flush(void *context, struct tacho_err *err)
{
    struct self *self = context;
    if (fflush(self->file) != 0) {
        return tacho_fail(err, TACHO_RETRY, "cannot write to '%s': %s", self->options->path,
                          strerror(errno));
    }
    return TACHO_OK;
}

/* ---- what the host sees ---------------------------------------------------------------------- */

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "template",
    .version = "0.1",
    .summary = "Batches as JSON lines in a file",
    TACHO_OPTIONS(options, struct options),
    .open = open_instance,
    .close = close_instance,
    .consume = consume,
    .flush = flush,
};
