/* SPDX-License-Identifier: MIT */
/* Fails: collect */
#include "tests/modules/bad.h"

static int collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    struct self *self = context;
    int code = good_collect(context, batch, deadline_ns, err);
    self->host->f64(batch, 7, 1.0);
    return code;
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = good_close, .collect = collect);
