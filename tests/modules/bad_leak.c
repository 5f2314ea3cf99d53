/* SPDX-License-Identifier: MIT */
/* Fails: leaks */
#include "tests/modules/bad.h"

static int leaking_open(const struct tacho_host *host, const void *options, void **out_self,
                        struct tacho_err *err)
{
    void *volatile lost = malloc(64);
    (void)lost;
    /* cppcheck-suppress memleak */
    return good_open(host, options, out_self, err);
}

BAD_PLUGIN(GOOD_METRICS, .open = leaking_open, .close = good_close, .collect = good_collect);
