/* SPDX-License-Identifier: MIT */
/* Fails: undefined load */
#include "tests/modules/bad.h"

void tacho_log_line(const char *text);

static void talking_close(void *self)
{
    tacho_log_line("closing");
    good_close(self);
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = talking_close, .collect = good_collect);
