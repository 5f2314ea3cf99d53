/* SPDX-License-Identifier: MIT */
/* A sink for tests: each batch as a line of JSON at the end of a file. */
#include "core/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char *path;
};

struct recorder {
    const struct tacho_host *host;
    int fd;
};

static const struct tacho_option option_table[] = {
    {.name = "path",
     .type = TACHO_STRING,
     .flags = TACHO_REQUIRED,
     .offset = offsetof(struct options, path),
     .help = "File to append to"},
};

static int recorder_open(const struct tacho_host *host, const void *given, void **out_self,
                         struct tacho_err *err)
{
    const struct options *options = given;
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    recorder->host = host;
    recorder->fd = open(options->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (recorder->fd < 0) {
        free(recorder);
        return tacho_fail(err, TACHO_RETRY, "cannot open %s: error %d", options->path, errno);
    }
    *out_self = recorder;
    return TACHO_OK;
}

static int recorder_consume(void *self, const struct tacho_batch *batch, struct tacho_err *err)
{
    struct recorder *recorder = self;
    const void *data;
    size_t length;
    if (recorder->host->encode(batch, TACHO_JSON, &data, &length) != TACHO_OK) {
        return tacho_fail(err, TACHO_RETRY, "cannot encode");
    }
    if (write(recorder->fd, data, length) != (ssize_t)length || write(recorder->fd, "\n", 1) != 1) {
        return tacho_fail(err, TACHO_RETRY, "cannot write: error %d", errno);
    }
    return TACHO_OK;
}

static void recorder_close(void *self)
{
    struct recorder *recorder = self;
    close(recorder->fd);
    free(recorder);
}

TACHO_EXPORT const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "recorder",
    .version = "1",
    .summary = "Appends each batch to a file as JSON",
    TACHO_OPTIONS(option_table, struct options),
    .open = recorder_open,
    .close = recorder_close,
    .consume = recorder_consume,
};
