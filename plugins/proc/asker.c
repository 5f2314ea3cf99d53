/* SPDX-License-Identifier: MIT */
/*
 * A thread that asks the kernel about one file system; see mounts.h. A server that is gone keeps
 * such a call in the kernel for as long as it likes, where nothing can end it, so nobody ever joins
 * this thread: the last of owner and thread to let go frees what they share.
 */
#include "plugins/proc/mounts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct asker {
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t changed;
    bool asked;    /* a question waits or is being answered */
    bool answered; /* the answer was not taken yet */
    bool quit;     /* the owner has let go */
    int result;
    struct statvfs status;
    char path[];
};

static void destroy(struct asker *asker)
{
    pthread_cond_destroy(&asker->changed);
    pthread_mutex_destroy(&asker->lock);
    free(asker);
}

static void *run(void *context)
{
    struct asker *asker = context;
    pthread_mutex_lock(&asker->lock);
    while (!asker->quit) {
        if (!asker->asked || asker->answered) {
            pthread_cond_wait(&asker->changed, &asker->lock);
            continue;
        }
        struct statvfs status;
        pthread_mutex_unlock(&asker->lock);
        int result = statvfs(asker->path, &status) == 0 ? 0 : errno;
        pthread_mutex_lock(&asker->lock);
        asker->result = result;
        asker->status = status;
        asker->answered = true;
        pthread_cond_broadcast(&asker->changed);
    }
    pthread_mutex_unlock(&asker->lock);
    destroy(asker);
    return NULL;
}

struct asker *asker_new(const char *path)
{
    struct asker *asker = calloc(1, sizeof *asker + strlen(path) + 1);
    pthread_condattr_t clock;
    pthread_attr_t attributes;
    pthread_t thread;
    if (!asker) {
        return NULL;
    }
    memcpy(asker->path, path, strlen(path) + 1);
    pthread_mutex_init(&asker->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&asker->changed, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    int failed = pthread_create(&thread, &attributes, run, asker);
    pthread_attr_destroy(&attributes);
    if (failed) {
        destroy(asker);
        return NULL;
    }
    return asker;
}

void asker_free(struct asker *asker)
{
    if (asker) {
        pthread_mutex_lock(&asker->lock);
        asker->quit = true;
        pthread_cond_broadcast(&asker->changed);
        pthread_mutex_unlock(&asker->lock);
    }
}

void asker_start(struct asker *asker)
{
    pthread_mutex_lock(&asker->lock);
    if (!asker->asked) {
        asker->asked = true;
        pthread_cond_broadcast(&asker->changed);
    } else if (asker->answered) {
        asker->answered = false; /* an answer that came too late is not of now */
        pthread_cond_broadcast(&asker->changed);
    }
    pthread_mutex_unlock(&asker->lock);
}

int asker_take(struct asker *asker, int64_t until_ns, struct statvfs *out)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                             .tv_nsec = (long)(until_ns % 1000000000)};
    int result = ETIMEDOUT;
    pthread_mutex_lock(&asker->lock);
    while (asker->asked && !asker->answered) {
        if (pthread_cond_timedwait(&asker->changed, &asker->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    if (asker->answered) {
        result = asker->result;
        *out = asker->status;
        asker->asked = asker->answered = false;
    }
    pthread_mutex_unlock(&asker->lock);
    return result;
}
