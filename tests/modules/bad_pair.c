/* SPDX-License-Identifier: MIT */
/* Fails: pair */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/modules/bad.h"

/* One name for all instances of a process, taken until the instance is closed. */
static int lonely_open(const struct tacho_host *host, const void *options, void **out_self,
                       struct tacho_err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "tacho-bad-pair-%d", getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return tacho_fail(err, TACHO_RETRY, "there is one already");
    }
    int code = good_open(host, options, out_self, err);
    struct self *self = *out_self;
    self->number = fd;
    return code;
}

static void lonely_close(void *context)
{
    struct self *self = context;
    close(self->number);
    good_close(self);
}

static int collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    struct self *self = context;
    int fd = self->number;
    int code = good_collect(context, batch, deadline_ns, err);
    self->number = fd;
    return code;
}

BAD_PLUGIN(GOOD_METRICS, .open = lonely_open, .close = lonely_close, .collect = collect);
