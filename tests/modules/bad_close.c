/* SPDX-License-Identifier: MIT */
/* Fails: open leaks */
#include <stdlib.h>

#include "tests/modules/bad.h"

/* Relies on a collect before. */
static void proud_close(void *context)
{
    struct self *self = context;
    if (self->number == 0) {
        abort();
    }
    good_close(self);
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = proud_close, .collect = good_collect);
