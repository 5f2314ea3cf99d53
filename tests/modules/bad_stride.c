/* SPDX-License-Identifier: MIT */
/* Fails: load */
#include "tests/modules/bad.h"

BAD_PLUGIN(.metrics = good_metrics, .metric_count = 1, .metric_stride = 3, .open = good_open,
           .close = good_close, .collect = good_collect);
