/* SPDX-License-Identifier: MIT */
/* Fails: state */
#include "tests/modules/bad.h"

static int calls[16];

static int collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    struct self *self = context;
    self->number = ++calls[0];
    return good_collect(context, batch, deadline_ns, err);
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = good_close, .collect = collect);
