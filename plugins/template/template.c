/* SPDX-License-Identifier: MIT */
/*
 * template: the first number of a file, at each interval. A starting point: an options struct, a
 * metric table, open, collect and close are all that a provider needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/plugin.h"

/* ---- tables ---------------------------------------------------------------------------------- */

struct options {
    const char *path;
    double scale;
};

static const struct tacho_option options[] = {
    {.name = "path",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, path),
     .preset = "/proc/loadavg",
     .help = "File whose first number is read."},
    {.name = "scale",
     .type = TACHO_FLOAT,
     .offset = offsetof(struct options, scale),
     .preset = "1",
     .minimum = -1e9,
     .maximum = 1e9,
     .help = "The number is multiplied by this."},
};

enum metric { VALUE };

static const struct tacho_metric metrics[] = {
    [VALUE] = {.name = "template.value",
               .unit = "",
               .kind = TACHO_GAUGE,
               .help = "The number in the file."},
};

/* ---- one instance ---------------------------------------------------------------------------- */

struct self {
    const struct tacho_host *host;
    const struct options *options;
    int fd;
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
    self->fd = open(self->options->path, O_RDONLY | O_CLOEXEC);
    if (self->fd < 0) {
        int code = tacho_fail(err, TACHO_RETRY, "cannot open '%s': %s; check the option path",
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
    close(self->fd);
    free(self);
}

static int collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    struct self *self = context;
    char text[64], *end;
    (void)deadline_ns; /* one short read: nothing to cut off */
    ssize_t length = pread(self->fd, text, sizeof text - 1, 0);
    if (length < 0) {
        return tacho_fail(err, TACHO_RETRY, "cannot read '%s': %s", self->options->path,
                          strerror(errno));
    }
    text[length] = '\0';
    double number = strtod(text, &end);
    self->host->entity(batch, "file", self->options->path, -1, 0);
    if (end == text || !isfinite(number)) {
        /* Absent is not zero: say why there is no value. */
        self->host->absent(batch, VALUE, TACHO_ABSENT_ERROR);
        return tacho_fail(err, TACHO_PARTIAL, "'%s' does not begin with a number",
                          self->options->path);
    }
    self->host->f64(batch, VALUE, number * self->options->scale);
    return TACHO_OK;
}

/* ---- what the host sees ---------------------------------------------------------------------- */

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "template",
    .version = "0.1",
    .summary = "The first number of a file",
    TACHO_OPTIONS(options, struct options),
    TACHO_METRICS(metrics),
    .open = open_instance,
    .close = close_instance,
    .collect = collect,
};
