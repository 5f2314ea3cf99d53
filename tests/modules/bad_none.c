/* SPDX-License-Identifier: MIT */
/* Fails: nothing */
#include "tests/modules/bad.h"

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = good_close, .collect = good_collect);
