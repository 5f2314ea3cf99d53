/* SPDX-License-Identifier: MIT */
/* Fails: leaks */
#include <fcntl.h>

#include "tests/modules/bad.h"

static int leaking_open(const struct tacho_host *host, const void *options, void **out_self,
                        struct tacho_err *err)
{
    (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    return good_open(host, options, out_self, err);
}

BAD_PLUGIN(GOOD_METRICS, .open = leaking_open, .close = good_close, .collect = good_collect);
