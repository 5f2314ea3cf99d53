/* SPDX-License-Identifier: MIT */
/* What the parent asks a child to open, taken apart. For isolate*.c only. */
#ifndef TACHO_CORE_ISOLATE_REQUEST_H
#define TACHO_CORE_ISOLATE_REQUEST_H

#include "core/option.h"
#include "core/plugin.h"

struct isolate_request {
    char *text; /* holds all texts below */
    const char *path, *name, *fleet, *host, *state_dir, *interval;
    struct option_text *options;
    size_t option_count;
    void *filled; /* the plugin's options struct; not this module's to free */
};

/* The payload of WIRE_OPEN; copied. */
int isolate_request_init(struct isolate_request *request, const char *at, const char *end,
                         struct tacho_err *err);
void isolate_request_fini(struct isolate_request *request);

#endif
