/* SPDX-License-Identifier: MIT */
/* Fails: load */
#include "tests/modules/bad.h"

static const struct tacho_metric metrics[] = {
    {.name = "gpu.power", .unit = "bytes", .kind = TACHO_GAUGE, .help = "Not bytes."},
};

BAD_PLUGIN(TACHO_METRICS(metrics), .open = good_open, .close = good_close, .collect = good_collect);
