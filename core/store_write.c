/* SPDX-License-Identifier: MIT */
/* Segments being written: begun, filled, sealed, and left when something goes wrong; see
 * store_private.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/encode.h"
#include "core/err.h"
#include "core/store_private.h"

enum {
    NAME_TRIES = 100,
    DROP_TRIES = 64,            /* segments dropped for one write at most */
    WORTH_DROPPING = 64 * 1024, /* the only segment is dropped for room when it has this size */
};
#define RETRY_NS NS_PER_S

/* ---- begin and end --------------------------------------------------------------------------- */

static int create_file(struct tacho_store *store, uint64_t first_seq)
{
    int64_t wall_ns = clock_wall_ns();
    for (int i = 0; i < NAME_TRIES; i++) {
        segment_name(first_seq, wall_ns + i * NS_PER_S, store->name);
        store->fd = openat(store->folder_fd, store->name,
                           O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (store->fd >= 0 || errno != EEXIST) {
            break;
        }
    }
    return store->fd >= 0 ? TACHO_OK : TACHO_RETRY;
}

static uint64_t first_unwritten(const struct tacho_store *store)
{
    return store->waiting_count ? store->waiting[store->waiting_first].seq : store->next_seq;
}

static int begin_segment(struct tacho_store *store)
{
    uint64_t seq = first_unwritten(store);
    if (create_file(store, seq) != TACHO_OK) {
        store_fail(store, "making a segment in");
        return TACHO_RETRY;
    }
    store->offset = 0;
    store->schema_count = 0;
    store->seal = (struct segment_seal){.first_seq = seq};
    store->announces = false;
    store->begun_mono_ns = clock_mono_ns();
    store->header.created_ns = clock_wall_ns();
    store->folder_dirty = true;
    buf_reset(&store->out);
    segment_put_header(&store->out, seq, &store->header);
    return TACHO_OK;
}

/* Takes the open segment off the writer: onto the closed list, or away when it holds nothing. */
static void end_segment(struct tacho_store *store)
{
    struct segment segment = {
        .first_seq = store->seal.first_seq, .bytes = store->offset, .changed_ns = clock_wall_ns()};
    memcpy(segment.name, store->name, sizeof segment.name);
    uint64_t last_seq = store->seal.frames ? store->seal.last_seq : segment.first_seq - 1;
    if (store->seal.frames == 0 && !store->announces) {
        unlinkat(store->folder_fd, store->name, 0);
        close(store->fd);
    } else if (!store_add_closed(store, &segment, last_seq, store->fd)) {
        close(store->fd);
    }
    store->fd = -1;
    store->framed = 0;
    store->gaps_framed = 0;
    buf_reset(&store->out);
}

void store_fail(struct tacho_store *store, const char *what)
{
    int saved = errno;
    if (!store->stats.degraded) {
        err_clear(&store->trouble);
    }
    err_sys(&store->trouble, TACHO_RETRY, "%s the log %s", what, store->path);
    store->stats.degraded = 1;
    store->stats.io_errors++;
    store->retry_mono_ns = clock_mono_ns() + RETRY_NS;
    if (store->fd >= 0) {
        /* A cut that fails leaves garbage behind the last frame; nobody writes behind it. */
        if (ftruncate(store->fd, (off_t)store->offset) != 0) {
            store->stats.io_errors++;
        }
        end_segment(store);
    }
    errno = saved;
}

/* ---- framing --------------------------------------------------------------------------------- */

/* Whether this segment has the schema already; it is then the one used last. */
static bool schema_known(struct tacho_store *store, uint64_t schema)
{
    uint32_t at = 0;
    while (at < store->schema_count && store->schemas[at] != schema) {
        at++;
    }
    bool known = at < store->schema_count;
    if (!known && store->schema_count < STORE_SCHEMAS) {
        store->schema_count++;
    }
    if (at == STORE_SCHEMAS) {
        at--;
    }
    memmove(store->schemas + 1, store->schemas, at * sizeof store->schemas[0]);
    store->schemas[0] = schema;
    return known;
}

static void frame_batch(struct tacho_store *store, const struct store_waiting *waiting)
{
    const void *data;
    size_t length;
    if (!schema_known(store, waiting->batch->schema)) {
        if (encode_batch(waiting->batch, TACHO_SCHEMA, &data, &length) != TACHO_OK) {
            store->out.failed = true;
            return;
        }
        /* Twice, since without it all its batches would be lost by one wrong byte. */
        frame_put(&store->out, FRAME_SCHEMA, waiting->seq, data, length);
        frame_put(&store->out, FRAME_SCHEMA, waiting->seq, data, length);
    }
    if (encode_batch(waiting->batch, TACHO_MSGPACK, &data, &length) != TACHO_OK) {
        store->out.failed = true;
        return;
    }
    frame_put(&store->out, FRAME_BATCH, waiting->seq, data, length);
}

static void frame_gaps(struct tacho_store *store)
{
    uint64_t seq = first_unwritten(store);
    while (store->gaps_framed < store->gap_count) {
        segment_put_gap(&store->out, seq, &store->gaps[store->gaps_framed++]);
    }
}

/* Frames what waits, oldest first, until there is enough for one write. */
static void frame_waiting(struct tacho_store *store)
{
    frame_gaps(store);
    while (store->framed < store->waiting_count && store->framed < STORE_FRAMED &&
           store->out.length < STORE_OUT_BYTES && !store->out.failed) {
        uint32_t at = (store->waiting_first + store->framed++) % STORE_WAITING;
        frame_batch(store, &store->waiting[at]);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_all(int fd, const char *data, size_t length, uint64_t offset)
{
    while (length) {
        ssize_t wrote = pwrite(fd, data, length, (off_t)offset);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            errno = wrote == 0 ? ENOSPC : errno;
            return -1;
        }
        data += wrote;
        offset += (size_t)wrote;
        length -= (size_t)wrote;
    }
    return 0;
}

/* What is in the file need not wait any longer. */
static void let_go(struct tacho_store *store)
{
    for (; store->framed; store->framed--) {
        struct store_waiting *waiting = &store->waiting[store->waiting_first];
        const struct tacho_batch *batch = waiting->batch;
        if (store->seal.frames++ == 0) {
            store->seal.first_seq = waiting->seq;
            store->seal.first_ns = store->seal.last_ns = batch->wall_ns;
        }
        store->seal.last_seq = waiting->seq;
        store->seal.values += batch->value_count;
        if (batch->wall_ns < store->seal.first_ns) {
            store->seal.first_ns = batch->wall_ns;
        }
        if (batch->wall_ns > store->seal.last_ns) {
            store->seal.last_ns = batch->wall_ns;
        }
        store->stats.frames++;
        store->stats.values += batch->value_count;
        store->waiting_bytes -= waiting->bytes;
        store->waiting_first = (store->waiting_first + 1) % STORE_WAITING;
        store->waiting_count--;
        batch_unref(batch);
    }
    store->announces |= store->gaps_framed > 0;
    store->gap_count -= store->gaps_framed;
    memmove(store->gaps, store->gaps + store->gaps_framed,
            store->gap_count * sizeof store->gaps[0]);
    store->gaps_framed = 0;
}

static void mark_dirty(struct tacho_store *store)
{
    if (!store->dirty) {
        store->dirty = true;
        pthread_cond_signal(&store->wake);
    }
}

static int write_out(struct tacho_store *store)
{
    if (store->out.failed) {
        errno = ENOMEM;
        store_fail(store, "framing a batch for");
        return TACHO_RETRY;
    }
    if (write_all(store->fd, store->out.data, store->out.length, store->offset) != 0) {
        store_fail(store, "writing");
        return TACHO_RETRY;
    }
    store->offset += store->out.length;
    buf_reset(&store->out);
    let_go(store);
    mark_dirty(store);
    store->stats.degraded = 0;
    err_clear(&store->trouble);
    store_retain_bytes(store);
    return TACHO_OK;
}

bool store_rotation_due(const struct tacho_store *store, int64_t mono_ns)
{
    return store->fd >= 0 && store->seal.frames > 0 &&
           (store->offset + store->out.length >= (uint64_t)store->options.segment_bytes ||
            (store->options.segment_age_ns > 0 &&
             mono_ns - store->begun_mono_ns >= store->options.segment_age_ns));
}

void store_rotate(struct tacho_store *store)
{
    if (store->fd < 0) {
        return;
    }
    /* First, so that this segment tells what its own closing drops. */
    store_retain(store);
    frame_gaps(store);
    if (store->out.length && write_out(store) != TACHO_OK) {
        return;
    }
    segment_put_seal(&store->out, store->seal.last_seq, &store->seal);
    if (write_all(store->fd, store->out.data, store->out.length, store->offset) != 0) {
        store_fail(store, "sealing a segment of");
        return;
    }
    store->offset += store->out.length;
    end_segment(store);
    pthread_cond_signal(&store->wake);
}

/* Frees room after a write failed for want of it. */
static bool make_room(struct tacho_store *store)
{
    bool full = errno == ENOSPC || errno == EDQUOT;
    if (!full || store->closed_count == 0 ||
        (store->closed_count == 1 && store->closed[0].segment.bytes < WORTH_DROPPING)) {
        return false;
    }
    store_drop_oldest(store, "disk_full");
    return true;
}

/* Frames and writes one piece; a segment that cannot take it is left for a new one, once. */
static int write_piece(struct tacho_store *store, bool at_once)
{
    int result = TACHO_RETRY;
    bool fresh = false;
    for (int i = 0; i < DROP_TRIES; i++) {
        fresh = store->fd < 0;
        if (!fresh || begin_segment(store) == TACHO_OK) {
            frame_waiting(store);
            bool enough =
                at_once || store->framed == STORE_FRAMED || store->out.length >= STORE_OUT_BYTES;
            result = enough ? write_out(store) : TACHO_OK;
        }
        if (result == TACHO_OK || (!make_room(store) && fresh)) {
            break;
        }
    }
    return result;
}

int store_push(struct tacho_store *store)
{
    if (store_rotation_due(store, clock_mono_ns())) {
        store_rotate(store);
    }
    int result = TACHO_OK;
    do {
        result = write_piece(store, false);
    } while (result == TACHO_OK && store->framed < store->waiting_count);
    return result;
}

int store_drain(struct tacho_store *store)
{
    int result = TACHO_OK;
    if (!store->waiting_count && !store->gap_count) {
        /* A failed sync is over when nothing is left to be written. */
        store->stats.degraded = 0;
        err_clear(&store->trouble);
    }
    while (result == TACHO_OK && (store->waiting_count || store->gap_count)) {
        result = write_piece(store, true);
        if (result == TACHO_OK && store_rotation_due(store, clock_mono_ns())) {
            store_rotate(store);
        }
    }
    return result;
}
