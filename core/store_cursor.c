/* SPDX-License-Identifier: MIT */
/* Reading a log: segments in order, frames in order, damage skipped; see store.h. At the end of the
 * newest segment a cursor stays, and goes on when there is more. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/decode.h"
#include "core/err.h"
#include "core/store.h"
#include "core/store_walk.h"

struct tacho_cursor {
    char *path;
    int folder_fd; /* -1: one file */
    int fd;        /* the segment being read, or -1 */
    char name[SEGMENT_NAME];
    struct segment *list; /* as the folder was when we looked last */
    size_t list_count;
    struct walk walk;
    bool sealed; /* its seal was read */
    bool looked; /* a newer segment was seen when this one ended: it cannot grow any more */
    struct tacho_decoder *decoder;
    int64_t from_ns;
    uint64_t expected_seq;     /* 0: not known yet */
    struct cursor_stats stats; /* of the segments left; see cursor_stats */
};

/* ---- segments -------------------------------------------------------------------------------- */

static void leave_segment(struct tacho_cursor *cursor)
{
    if (cursor->fd < 0) {
        return;
    }
    scan_abandon(&cursor->walk.file);
    cursor->stats.bytes += scan_position(&cursor->walk.file);
    cursor->stats.damaged_bytes += walk_damaged_bytes(&cursor->walk);
    cursor->stats.damaged_places += walk_damaged_places(&cursor->walk);
    walk_fini(&cursor->walk);
    close(cursor->fd);
    cursor->fd = -1;
}

static void enter_segment(struct tacho_cursor *cursor, int fd)
{
    walk_init(&cursor->walk, fd);
    cursor->fd = fd;
    cursor->sealed = cursor->looked = false;
    cursor->stats.segments++;
}

/* The oldest segment of the list behind the one read last, or NULL. */
static const struct segment *search(const struct tacho_cursor *cursor)
{
    size_t low = 0, high = cursor->list_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(cursor->list[middle].name, cursor->name) > 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < cursor->list_count ? &cursor->list[low] : NULL;
}

static int list_again(struct tacho_cursor *cursor, struct tacho_err *err)
{
    struct segment *list = NULL;
    size_t count = 0;
    int result = segment_list(cursor->folder_fd, &list, &count, err);
    if (result == TACHO_OK) {
        free(cursor->list);
        cursor->list = list;
        cursor->list_count = count;
    }
    return result;
}

/* The oldest segment behind the one read last. The folder is looked at again only when the last
 * look tells of no more: new ones come behind all others. */
static int find_next(struct tacho_cursor *cursor, struct segment *out, struct tacho_err *err)
{
    const struct segment *next = search(cursor);
    if (!next) {
        int result = list_again(cursor, err);
        if (result != TACHO_OK) {
            return result;
        }
        next = search(cursor);
    }
    if (!next) {
        return TACHO_NO_DATA;
    }
    *out = *next;
    return TACHO_OK;
}

static int open_next(struct tacho_cursor *cursor, struct tacho_err *err)
{
    struct segment next;
    int result = find_next(cursor, &next, err);
    while (result == TACHO_OK) {
        int fd = openat(cursor->folder_fd, next.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        memcpy(cursor->name, next.name, sizeof cursor->name);
        if (fd >= 0) {
            enter_segment(cursor, fd);
            return TACHO_OK;
        }
        /* Dropped meanwhile, or not ours to read: the numbers will tell what is missing. */
        result = find_next(cursor, &next, err);
    }
    return result;
}

/* At the end of the data: whether the segment is done with, or may still grow. */
static bool may_leave(struct tacho_cursor *cursor)
{
    struct segment next;
    if (cursor->folder_fd < 0 || cursor->sealed || cursor->looked) {
        return cursor->folder_fd >= 0;
    }
    cursor->looked = find_next(cursor, &next, NULL) == TACHO_OK;
    return false;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void count_batch(struct tacho_cursor *cursor, uint64_t seq)
{
    if (cursor->expected_seq && seq > cursor->expected_seq) {
        cursor->stats.missing += seq - cursor->expected_seq;
    }
    cursor->expected_seq = seq + 1;
}

static void count_gap(struct tacho_cursor *cursor, const struct frame *frame)
{
    struct segment_gap gap;
    if (segment_read_gap(frame, &gap) == TACHO_OK && cursor->expected_seq &&
        gap.first_seq <= cursor->expected_seq && gap.last_seq >= cursor->expected_seq) {
        cursor->stats.announced += gap.last_seq - cursor->expected_seq + 1;
        cursor->expected_seq = gap.last_seq + 1;
    }
}

/* The batch of a frame, if it has one that is wanted. */
static struct tacho_batch *take_frame(struct tacho_cursor *cursor, const struct frame *frame)
{
    struct tacho_batch *batch = NULL;
    switch (frame->kind) {
    case FRAME_SCHEMA:
        if (decode_schema(cursor->decoder, frame->payload, frame->length, NULL) != TACHO_OK) {
            cursor->stats.unreadable++;
        }
        break;
    case FRAME_BATCH:
        count_batch(cursor, frame->seq);
        if (decode_batch(cursor->decoder, frame->payload, frame->length, &batch, NULL) !=
            TACHO_OK) {
            cursor->stats.unreadable++;
            return NULL;
        }
        cursor->stats.batches++;
        break;
    case FRAME_GAP: count_gap(cursor, frame); break;
    case FRAME_SEAL: cursor->sealed = true; break;
    default: break;
    }
    if (batch && batch->wall_ns < cursor->from_ns) {
        batch_discard(batch);
        batch = NULL;
    }
    return batch;
}

int cursor_next(struct tacho_cursor *cursor, struct tacho_batch **out, struct tacho_err *err)
{
    for (;;) {
        struct frame frame;
        if (cursor->fd < 0) {
            int opened = cursor->folder_fd < 0 ? TACHO_NO_DATA : open_next(cursor, err);
            if (opened != TACHO_OK) {
                return opened;
            }
        }
        int result = walk_next(&cursor->walk, &frame, err);
        if (result == TACHO_OK) {
            *out = take_frame(cursor, &frame);
            if (*out) {
                return TACHO_OK;
            }
            continue;
        }
        bool looked = cursor->looked;
        if (result == TACHO_RETRY) {
            /* A disk that cannot read here may read the next segment. */
            if (cursor->folder_fd >= 0) {
                leave_segment(cursor);
            }
            return result;
        }
        if (may_leave(cursor)) {
            leave_segment(cursor);
        } else if (cursor->looked == looked) {
            return TACHO_NO_DATA;
        }
    }
}

/* ---- opening and seeking --------------------------------------------------------------------- */

/* The time of a segment's newest batch, or INT64_MAX when only reading it would tell. */
static int64_t last_ns(const struct tacho_cursor *cursor, const char *name)
{
    struct segment_seal seal;
    int fd = openat(cursor->folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int64_t last = INT64_MAX;
    if (fd >= 0) {
        if (segment_find_seal(fd, &seal) == TACHO_OK && seal.frames) {
            last = seal.last_ns;
        }
        close(fd);
    }
    return last;
}

int cursor_seek(struct tacho_cursor *cursor, int64_t wall_ns, struct tacho_err *err)
{
    cursor->from_ns = wall_ns;
    cursor->expected_seq = 0;
    if (cursor->folder_fd < 0) {
        walk_fini(&cursor->walk);
        walk_init(&cursor->walk, cursor->fd);
        return TACHO_OK;
    }
    int result = list_again(cursor, err);
    if (result != TACHO_OK) {
        return result;
    }
    leave_segment(cursor);
    size_t low = 0, high = cursor->list_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (last_ns(cursor, cursor->list[middle].name) < wall_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    cursor->name[0] = '\0';
    if (low > 0) {
        memcpy(cursor->name, cursor->list[low - 1].name, sizeof cursor->name);
    }
    return TACHO_OK;
}

static int open_path(struct tacho_cursor *cursor, struct tacho_err *err)
{
    struct stat status;
    int fd = open(cursor->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int result = err_sys(err, TACHO_RETRY, "opening the log %s", cursor->path);
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    if (S_ISDIR(status.st_mode)) {
        cursor->folder_fd = fd;
    } else {
        enter_segment(cursor, fd);
    }
    return TACHO_OK;
}

int cursor_open(const char *path, struct batch_pool *pool, struct tacho_cursor **out,
                struct tacho_err *err)
{
    struct tacho_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the log %s", path);
    }
    cursor->fd = cursor->folder_fd = -1;
    cursor->from_ns = INT64_MIN;
    cursor->path = strdup(path);
    cursor->decoder = decoder_new(pool);
    int result = TACHO_OK;
    if (!cursor->path || !cursor->decoder) {
        result = tacho_fail(err, TACHO_RETRY, "no memory for the log %s", path);
    } else {
        result = open_path(cursor, err);
    }
    if (result != TACHO_OK) {
        cursor_close(cursor);
        return result;
    }
    *out = cursor;
    return TACHO_OK;
}

void cursor_stats(const struct tacho_cursor *cursor, struct cursor_stats *out)
{
    *out = cursor->stats;
    if (cursor->fd >= 0) {
        out->bytes += scan_position(&cursor->walk.file);
        out->damaged_bytes += walk_damaged_bytes(&cursor->walk);
        out->damaged_places += walk_damaged_places(&cursor->walk);
    }
}

void cursor_close(struct tacho_cursor *cursor)
{
    if (!cursor) {
        return;
    }
    leave_segment(cursor);
    if (cursor->folder_fd >= 0) {
        close(cursor->folder_fd);
    }
    if (cursor->decoder) {
        decoder_free(cursor->decoder);
    }
    free(cursor->list);
    free(cursor->path);
    free(cursor);
}
