/* SPDX-License-Identifier: MIT */
/* Fails: exports */
#include "tests/modules/bad.h"

TACHO_EXPORT int helper(int number);

int helper(int number)
{
    return number + 1;
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = good_close, .collect = good_collect);
