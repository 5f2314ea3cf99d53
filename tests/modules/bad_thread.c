/* SPDX-License-Identifier: MIT */
/* Fails: leaks */
#include <pthread.h>
#include <unistd.h>

#include "tests/modules/bad.h"

static void *wait_for_ever(void *argument)
{
    for (;;) {
        pause();
    }
    return argument;
}

static int collect(void *context, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0) {
        pthread_detach(thread);
    }
    return good_collect(context, batch, deadline_ns, err);
}

BAD_PLUGIN(GOOD_METRICS, .open = good_open, .close = good_close, .collect = collect);
