/* SPDX-License-Identifier: MIT */
/* Fails: values */
#include <string.h>

#include "tests/modules/bad.h"

struct options {
    const char *path;
};

static const struct tacho_option options[] = {
    {.name = "path",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, path),
     .preset = "/proc/uptime",
     .help = "What open does not find, it does not tell of."},
};

static int silent_open(const struct tacho_host *host, const void *chosen, void **out_self,
                       struct tacho_err *err)
{
    const struct options *given = chosen;
    if (strcmp(given->path, "/proc/uptime") != 0) {
        return TACHO_RETRY;
    }
    return good_open(host, chosen, out_self, err);
}

BAD_PLUGIN(TACHO_OPTIONS(options, struct options), GOOD_METRICS, .open = silent_open,
           .close = good_close, .collect = good_collect);
