/* SPDX-License-Identifier: MIT */
/* Fails: deadline cancel */
#include <unistd.h>

#include "tests/modules/bad.h"

/* Fast for the probes that only want to see it work: these allow it a second. */
static int slow_collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                        struct tacho_err *err)
{
    struct self *self = context;
    int64_t allowed_ns = deadline_ns - self->host->mono_ns();
    if (allowed_ns < 500000000 || allowed_ns > 2000000000) {
        sleep(30);
    }
    return good_collect(context, batch, deadline_ns, err);
}

static void deaf_cancel(void *self)
{
    (void)self;
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = good_close, .collect = slow_collect,
           .cancel = deaf_cancel);
