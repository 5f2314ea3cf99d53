/* SPDX-License-Identifier: MIT */
/* A log's writer, from outside: open, append, flush, close; see store.h and store_private.h. */
#include "core/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/err.h"
#include "core/store_private.h"

enum {
    SEGMENT_BYTES = 8 * 1024 * 1024, /* presets, and the least that makes sense */
    SEGMENT_BYTES_MIN = 4096,
    SEGMENTS_MIN = 4, /* a folder of limited size holds so many, so that dropping one is not all */
};

/* Makes the folder and those above it. */
static int make_folder(const char *path, struct tacho_err *err)
{
    char *copy = strdup(path);
    if (!copy) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    int result = TACHO_OK;
    for (char *at = copy + 1; result == TACHO_OK; at++) {
        if (*at != '/' && *at != '\0') {
            continue;
        }
        char was = *at;
        *at = '\0';
        if (mkdir(copy, 0700) != 0 && errno != EEXIST && errno != EISDIR) {
            result = err_sys(err, TACHO_RETRY, "making the log folder %s", copy);
        }
        *at = was;
        if (!was) {
            break;
        }
    }
    free(copy);
    return result;
}

static int open_folder(struct tacho_store *store, struct tacho_err *err)
{
    if (make_folder(store->path, err) != TACHO_OK) {
        return TACHO_RETRY;
    }
    store->folder_fd = open(store->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder_fd < 0) {
        return err_sys(err, TACHO_RETRY, "opening the log folder %s", store->path);
    }
    if (flock(store->folder_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            return tacho_fail(err, TACHO_RETRY,
                              "the log folder %s is being written by another sink or daemon; give "
                              "each a folder of its own",
                              store->path);
        }
        return err_sys(err, TACHO_RETRY, "locking the log folder %s", store->path);
    }
    return TACHO_OK;
}

static void read_boot_id(char *out, size_t size)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, out, size - 1) : 0;
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

static void fill_header(struct segment_header *header, const struct store_writer *writer)
{
    header->version = SEGMENT_VERSION;
    header->session = writer->session;
    snprintf(header->fleet, sizeof header->fleet, "%s", writer->fleet);
    snprintf(header->host, sizeof header->host, "%s", writer->host);
    snprintf(header->stream, sizeof header->stream, "%s", writer->stream);
    snprintf(header->program, sizeof header->program, "tacho %s", writer->version);
    read_boot_id(header->boot, sizeof header->boot);
}

/* Copies what the caller's struct has, and replaces what makes no sense. */
static void take_options(struct tacho_store *store, const struct tacho_store_options *options)
{
    struct tacho_store_options *own = &store->options;
    size_t size = options->struct_size < sizeof *own ? options->struct_size : sizeof *own;
    memcpy(own, options, size);
    if (own->segment_bytes <= 0) {
        own->segment_bytes = SEGMENT_BYTES;
    }
    if (own->max_bytes > 0 && own->segment_bytes > own->max_bytes / SEGMENTS_MIN) {
        own->segment_bytes = own->max_bytes / SEGMENTS_MIN;
    }
    if (own->segment_bytes < SEGMENT_BYTES_MIN) {
        own->segment_bytes = SEGMENT_BYTES_MIN;
    }
    if (own->sync == TACHO_SYNC_INTERVAL && own->sync_interval_ns <= 0) {
        own->sync_interval_ns = NS_PER_S;
    }
}

static void release(struct tacho_store *store)
{
    for (size_t i = 0; i < store->closed_count; i++) {
        if (store->closed[i].fd >= 0) {
            close(store->closed[i].fd);
        }
    }
    if (store->folder_fd >= 0) {
        close(store->folder_fd);
    }
    while (store->waiting_count) {
        store_drop_waiting(store, "closed");
    }
    buf_fini(&store->out);
    pthread_cond_destroy(&store->wake);
    pthread_mutex_destroy(&store->lock);
    free(store->closed);
    free(store->path);
    free(store);
}

static struct tacho_store *make(const struct tacho_store_options *options,
                                const struct store_writer *writer)
{
    struct tacho_store *store = calloc(1, sizeof *store);
    if (!store) {
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    store->fd = store->folder_fd = -1;
    store->next_seq = 1;
    buf_init(&store->out, 2 * (size_t)FRAME_PAYLOAD_MAX + STORE_OUT_BYTES);
    take_options(store, options);
    fill_header(&store->header, writer);
    store->path = strdup(options->path);
    store->options.path = store->path;
    if (!store->path) {
        release(store);
        return NULL;
    }
    return store;
}

int store_open(const struct tacho_store_options *options, const struct store_writer *writer,
               struct tacho_store **out, struct tacho_err *err)
{
    if (!options->path || !options->path[0]) {
        return tacho_fail(err, TACHO_CONFIG, "a log needs the path of its folder");
    }
    struct tacho_store *store = make(options, writer);
    if (!store) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the log %s", options->path);
    }
    int result = open_folder(store, err);
    if (result == TACHO_OK) {
        result = store_recover(store, err);
    }
    if (result == TACHO_OK) {
        store_retain(store);
        store->synced_mono_ns = clock_mono_ns();
        if (pthread_create(&store->keeper, NULL, store_keep, store) != 0) {
            result = err_sys(err, TACHO_RETRY, "starting the keeper of the log %s", store->path);
        }
    }
    if (result != TACHO_OK) {
        release(store);
        return result;
    }
    *out = store;
    return TACHO_OK;
}

/* Puts a batch in the ring, under the next number. */
static int take_batch(struct tacho_store *store, const struct tacho_batch *batch,
                      struct tacho_err *err)
{
    const void *data;
    size_t length;
    int result = encode_batch(batch, TACHO_MSGPACK, &data, &length);
    if (result != TACHO_OK || length > FRAME_PAYLOAD_MAX) {
        uint64_t seq = store->next_seq++;
        store_announce(store, seq, seq, result == TACHO_OK ? "too_large" : "memory");
        store->stats.dropped_frames++;
        return tacho_fail(err, TACHO_PARTIAL, "a batch of %s was left out of the log %s: %s",
                          batch->source, store->path,
                          result == TACHO_OK ? "it is too large" : "no memory");
    }
    while (store->waiting_count == STORE_WAITING ||
           (store->waiting_count && store->waiting_bytes + length > STORE_WAITING_BYTES)) {
        store_drop_waiting(store, store->trouble.code ? "write_failed" : "memory");
    }
    uint32_t at = (store->waiting_first + store->waiting_count++) % STORE_WAITING;
    store->waiting[at] = (struct store_waiting){
        .batch = batch_ref(batch), .seq = store->next_seq++, .bytes = length};
    store->waiting_bytes += length;
    return TACHO_OK;
}

/* While writing fails it is tried again only now and then. */
static bool may_write(const struct tacho_store *store)
{
    return !store->stats.degraded || clock_mono_ns() >= store->retry_mono_ns;
}

int store_append(struct tacho_store *store, const struct tacho_batch *batch, struct tacho_err *err)
{
    pthread_mutex_lock(&store->lock);
    /* Room first: neither what is framed already, nor what could be written now, is dropped for
     * what comes. */
    if ((store->waiting_bytes >= STORE_WAITING_BYTES / 2 ||
         store->waiting_count >= STORE_WAITING / 2) &&
        may_write(store)) {
        store_drain(store);
    }
    int result = take_batch(store, batch, err);
    if (result == TACHO_OK && may_write(store)) {
        store_push(store);
    }
    pthread_mutex_unlock(&store->lock);
    return result;
}

static int sync_now(struct tacho_store *store)
{
    if (store->fd >= 0 && store->dirty && fdatasync(store->fd) != 0) {
        store_fail(store, "syncing");
        return TACHO_RETRY;
    }
    if (store->folder_dirty && fsync(store->folder_fd) != 0) {
        store_fail(store, "syncing the folder of");
        return TACHO_RETRY;
    }
    store->dirty = store->folder_dirty = false;
    store->synced_mono_ns = clock_mono_ns();
    return TACHO_OK;
}

int store_flush(struct tacho_store *store, struct tacho_err *err)
{
    pthread_mutex_lock(&store->lock);
    int result = TACHO_OK;
    if (may_write(store)) {
        result = store_drain(store);
        if (result == TACHO_OK && store->options.sync == TACHO_SYNC_ALWAYS) {
            result = sync_now(store);
        }
    }
    if (store->stats.degraded) {
        result = tacho_fail(err, TACHO_RETRY, "%s; %u batches wait in memory", store->trouble.text,
                            store->waiting_count);
    }
    pthread_mutex_unlock(&store->lock);
    return result;
}

void store_stats(const struct tacho_store *store, struct tacho_store_stats *out)
{
    struct tacho_store *mutable = (struct tacho_store *)store;
    pthread_mutex_lock(&mutable->lock);
    struct tacho_store_stats stats = store->stats;
    stats.segments = (uint32_t)store->closed_count + (store->fd >= 0);
    stats.bytes = store->closed_bytes + (store->fd >= 0 ? store->offset : 0);
    pthread_mutex_unlock(&mutable->lock);
    uint32_t size = out->struct_size < sizeof stats ? out->struct_size : (uint32_t)sizeof stats;
    stats.struct_size = size;
    memcpy(out, &stats, size);
}

void store_close(struct tacho_store *store)
{
    if (!store) {
        return;
    }
    pthread_mutex_lock(&store->lock);
    store->stopping = true;
    pthread_cond_signal(&store->wake);
    pthread_mutex_unlock(&store->lock);
    pthread_join(store->keeper, NULL);

    pthread_mutex_lock(&store->lock);
    store_drain(store);
    store_rotate(store);
    store_finish_closed(store, clock_mono_ns() + NS_PER_S);
    pthread_mutex_unlock(&store->lock);
    release(store);
}
