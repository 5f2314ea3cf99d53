/* SPDX-License-Identifier: MIT */
/* The keeper: a log's own thread for what would make appending wait. It syncs what was written,
 * seals an open segment that grew old, compresses closed ones, drops what is too old, and tries
 * again while writing fails. See store_private.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/store_private.h"

#define LOOK_NS (10 * NS_PER_S) /* how often age and free room are looked at */

/* ---- sync ------------------------------------------------------------------------------------ */

/* Syncs without the lock, on a descriptor of its own, so that appending goes on. */
static void sync_open_segment(struct tacho_store *store)
{
    int fd = store->fd >= 0 ? fcntl(store->fd, F_DUPFD_CLOEXEC, 0) : -1;
    bool folder = store->folder_dirty;
    store->dirty = store->folder_dirty = false;
    store->synced_mono_ns = clock_mono_ns();
    char name[SEGMENT_NAME];
    memcpy(name, store->name, sizeof name);

    pthread_mutex_unlock(&store->lock);
    bool failed = fd >= 0 && fdatasync(fd) != 0;
    failed = (folder && fsync(store->folder_fd) != 0) || failed;
    int saved = errno;
    if (fd >= 0) {
        close(fd);
    }
    pthread_mutex_lock(&store->lock);
    if (failed && strcmp(name, store->name) == 0) {
        errno = saved;
        store_fail(store, "syncing");
    }
}

/* ---- closed segments ------------------------------------------------------------------------- */

static struct store_closed *find_closed(struct tacho_store *store, const char *name)
{
    for (size_t i = 0; i < store->closed_count; i++) {
        if (strcmp(store->closed[i].segment.name, name) == 0) {
            return &store->closed[i];
        }
    }
    return NULL;
}

static bool needs_work(const struct tacho_store *store, const struct store_closed *closed)
{
    return closed->fd >= 0 || (store->options.compress && !closed->packed);
}

static struct store_closed *next_unfinished(struct tacho_store *store)
{
    for (size_t i = 0; i < store->closed_count; i++) {
        if (needs_work(store, &store->closed[i])) {
            return &store->closed[i];
        }
    }
    return NULL;
}

/* Puts the compressed file in the segment's place. The time of its data stays. */
static void replace(struct tacho_store *store, struct store_closed *closed, const char *temporary)
{
    struct stat status;
    int64_t changed_ns = closed->segment.changed_ns;
    struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = changed_ns / NS_PER_S, .tv_nsec = changed_ns % NS_PER_S}};
    utimensat(store->folder_fd, temporary, times, 0);
    if (fstatat(store->folder_fd, temporary, &status, 0) != 0 ||
        renameat(store->folder_fd, temporary, store->folder_fd, closed->segment.name) != 0) {
        store->stats.io_errors++;
        unlinkat(store->folder_fd, temporary, 0);
        return;
    }
    fsync(store->folder_fd);
    store->closed_bytes -= closed->segment.bytes;
    closed->segment.bytes = (uint64_t)status.st_size;
    store->closed_bytes += closed->segment.bytes;
}

/* Syncs and compresses one closed segment. It may be dropped meanwhile, so it is found again by
 * name; and only a failure to sync counts, since uncompressed it is as good. */
static void finish_one(struct tacho_store *store, struct store_closed *closed)
{
    char name[SEGMENT_NAME], temporary[SEGMENT_NAME + 8];
    int fd = closed->fd;
    bool pack = store->options.compress && !closed->packed;
    memcpy(name, closed->segment.name, sizeof name);
    closed->fd = -1;

    pthread_mutex_unlock(&store->lock);
    bool failed = fd >= 0 && store->options.sync != TACHO_SYNC_NEVER && fdatasync(fd) != 0;
    if (fd >= 0) {
        close(fd);
    }
    bool packed = pack && store_pack(store->folder_fd, name, temporary, NULL) == TACHO_OK;
    pthread_mutex_lock(&store->lock);

    store->stats.io_errors += failed;
    closed = find_closed(store, name);
    if (closed) {
        closed->packed = true;
    }
    if (packed && closed) {
        replace(store, closed, temporary);
    } else if (packed) {
        unlinkat(store->folder_fd, temporary, 0);
    }
}

void store_finish_closed(struct tacho_store *store, int64_t until_mono_ns)
{
    struct store_closed *closed = next_unfinished(store);
    while (closed && clock_mono_ns() < until_mono_ns) {
        finish_one(store, closed);
        closed = next_unfinished(store);
    }
}

/* ---- the thread ------------------------------------------------------------------------------ */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_due(const struct tacho_store *store, int64_t look_mono_ns)
{
    int64_t due = look_mono_ns;
    if (store->options.sync == TACHO_SYNC_INTERVAL && (store->dirty || store->folder_dirty)) {
        due = earlier(due, store->synced_mono_ns + store->options.sync_interval_ns);
    }
    if (store->fd >= 0 && store->seal.frames > 0 && store->options.segment_age_ns > 0) {
        due = earlier(due, store->begun_mono_ns + store->options.segment_age_ns);
    }
    if (store->stats.degraded) {
        due = earlier(due, store->retry_mono_ns);
    }
    return due;
}

static void wait_until(struct tacho_store *store, int64_t mono_ns)
{
    struct timespec until = {.tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S};
    pthread_cond_timedwait(&store->wake, &store->lock, &until);
}

static void keep_once(struct tacho_store *store, int64_t now)
{
    if (store->options.sync == TACHO_SYNC_INTERVAL && (store->dirty || store->folder_dirty) &&
        now >= store->synced_mono_ns + store->options.sync_interval_ns) {
        sync_open_segment(store);
    }
    if (store->stats.degraded && now >= store->retry_mono_ns) {
        store_drain(store);
    }
    if (store_rotation_due(store, now)) {
        store_rotate(store);
    }
    struct store_closed *closed = next_unfinished(store);
    if (closed && !store->stopping) {
        finish_one(store, closed);
    }
}

void *store_keep(void *argument)
{
    struct tacho_store *store = argument;
    pthread_setname_np(pthread_self(), "tacho-log");
    pthread_mutex_lock(&store->lock);
    int64_t look = clock_mono_ns() + LOOK_NS;
    while (!store->stopping) {
        int64_t now = clock_mono_ns();
        if (now >= look) {
            store_retain(store);
            look = now + LOOK_NS;
        }
        keep_once(store, now);
        if (!store->stopping && !next_unfinished(store)) {
            wait_until(store, next_due(store, look));
        }
    }
    pthread_mutex_unlock(&store->lock);
    return NULL;
}
