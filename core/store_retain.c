/* SPDX-License-Identifier: MIT */
/* What is dropped, and how that is told: closed segments by size, age and room; batches that waited
 * too long in memory; and the gaps that announce both. See store_private.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/store_private.h"

bool store_add_closed(struct tacho_store *store, const struct segment *segment, uint64_t last_seq,
                      int fd)
{
    if (store->closed_count == store->closed_size) {
        size_t size = store->closed_size ? store->closed_size * 2 : 16;
        struct store_closed *more = realloc(store->closed, size * sizeof *more);
        if (!more) {
            return false;
        }
        store->closed = more;
        store->closed_size = size;
    }
    store->closed[store->closed_count++] =
        (struct store_closed){.segment = *segment, .last_seq = last_seq, .fd = fd};
    store->closed_bytes += segment->bytes;
    return true;
}

void store_forget_closed(struct tacho_store *store, size_t index)
{
    struct store_closed *closed = &store->closed[index];
    if (closed->fd >= 0) {
        close(closed->fd);
    }
    store->closed_bytes -= closed->segment.bytes;
    store->closed_count--;
    memmove(closed, closed + 1, (store->closed_count - index) * sizeof *closed);
}

void store_announce(struct tacho_store *store, uint64_t first_seq, uint64_t last_seq,
                    const char *reason)
{
    struct segment_gap *last =
        store->gap_count > store->gaps_framed ? &store->gaps[store->gap_count - 1] : NULL;
    bool joins = last && strcmp(last->reason, reason) == 0 && last->last_seq + 1 == first_seq;
    if (!joins && store->gap_count < STORE_GAPS) {
        struct segment_gap *gap = &store->gaps[store->gap_count++];
        *gap = (struct segment_gap){.first_seq = first_seq, .last_seq = last_seq};
        memcpy(gap->stream, store->header.stream, sizeof gap->stream);
        strncpy(gap->reason, reason, sizeof gap->reason - 1);
        gap->wall_ns = clock_wall_ns();
        return;
    }
    /* With no place left the last gap grows: it may then speak of frames that are there, never the
     * other way round. */
    last = last ? last : &store->gaps[store->gap_count - 1];
    last->first_seq = first_seq < last->first_seq ? first_seq : last->first_seq;
    last->last_seq = last_seq > last->last_seq ? last_seq : last->last_seq;
    last->wall_ns = clock_wall_ns();
}

void store_drop_waiting(struct tacho_store *store, const char *reason)
{
    struct store_waiting *waiting = &store->waiting[store->waiting_first];
    store_announce(store, waiting->seq, waiting->seq, reason);
    store->stats.dropped_frames++;
    store->waiting_bytes -= waiting->bytes;
    store->waiting_first = (store->waiting_first + 1) % STORE_WAITING;
    store->waiting_count--;
    batch_unref(waiting->batch);
}

void store_drop_oldest(struct tacho_store *store, const char *reason)
{
    const struct store_closed *oldest = &store->closed[0];
    if (unlinkat(store->folder_fd, oldest->segment.name, 0) != 0 && errno != ENOENT) {
        store->stats.io_errors++;
    }
    store->stats.dropped_segments++;
    if (oldest->last_seq >= oldest->segment.first_seq) {
        store_announce(store, oldest->segment.first_seq, oldest->last_seq, reason);
        store->stats.dropped_frames += oldest->last_seq - oldest->segment.first_seq + 1;
    }
    store->folder_dirty = true;
    store_forget_closed(store, 0);
}

void store_retain_bytes(struct tacho_store *store)
{
    int64_t limit = store->options.max_bytes;
    while (limit > 0 && store->closed_count &&
           store->closed_bytes + store->offset > (uint64_t)limit) {
        store_drop_oldest(store, "max_bytes");
    }
}

static bool too_little_room(const struct tacho_store *store)
{
    struct statvfs status;
    return fstatvfs(store->folder_fd, &status) == 0 &&
           (uint64_t)status.f_bavail * status.f_frsize < (uint64_t)store->options.min_free_bytes;
}

void store_retain(struct tacho_store *store)
{
    store_retain_bytes(store);
    int64_t oldest_ns = clock_wall_ns() - store->options.max_age_ns;
    while (store->options.max_age_ns > 0 && store->closed_count &&
           store->closed[0].segment.changed_ns < oldest_ns) {
        store_drop_oldest(store, "max_age");
    }
    while (store->options.min_free_bytes > 0 && store->closed_count && too_little_room(store)) {
        store_drop_oldest(store, "min_free");
    }
}
