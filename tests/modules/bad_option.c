/* SPDX-License-Identifier: MIT */
/* Fails: options */
#include "tests/modules/bad.h"

struct options {
    int64_t number;
};

static const struct tacho_option options[] = {
    {.name = "number",
     .type = TACHO_INT,
     .offset = offsetof(struct options, number),
     .preset = "100",
     .minimum = 1,
     .maximum = 10,
     .help = "Its preset is out of its range."},
};

BAD_PLUGIN(TACHO_OPTIONS(options, struct options), GOOD_METRICS, .open = good_open,
           .close = good_close, .collect = good_collect);
