/* SPDX-License-Identifier: MIT */
/* What a log's writer does with what it finds in its folder: half-made files go, the last segment
 * loses its torn end and gets its seal, numbering goes on behind everything found. Nothing that
 * lies there can keep it from starting. See store_private.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/err.h"
#include "core/store_private.h"
#include "core/store_walk.h"

/* A compression that was cut short; the segment itself is still there. */
static void remove_leftovers(int folder_fd)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char *dot = strrchr(entry->d_name, '.');
        uint64_t seq;
        if (dot && strcmp(dot, ".tmp") == 0) {
            *dot = '\0';
            bool ours = segment_parse_name(entry->d_name, &seq);
            *dot = '.';
            if (ours) {
                unlinkat(folder_fd, entry->d_name, 0);
            }
        }
    }
    closedir(folder);
}

static void seal_file(int fd, const struct tally *tally, uint64_t end)
{
    struct buf out;
    buf_init(&out, 64u << 10);
    segment_put_seal(&out, tally->seal.last_seq, &tally->seal);
    if (pwrite(fd, out.data, out.length, (off_t)end) != (ssize_t)out.length) {
        /* No room for a seal: the segment is whole without one. */
        if (ftruncate(fd, (off_t)end) != 0) {
            buf_reset(&out);
        }
    }
    fdatasync(fd);
    buf_fini(&out);
}

/* Reads the segment to its end; returns the end of its last whole frame. */
static uint64_t read_through(int fd, struct tally *tally)
{
    struct walk walk;
    struct frame frame;
    uint64_t end = 0;
    walk_init(&walk, fd);
    while (walk_next(&walk, &frame, NULL) == TACHO_OK) {
        tally_frame(tally, &frame);
        end = scan_position(&walk.file);
    }
    walk_fini(&walk);
    return end;
}

/* Closes a segment that its writer did not close. False when it holds nothing and may go. */
static bool close_last(int folder_fd, struct segment *segment, uint64_t *out_next_seq)
{
    struct tally tally;
    struct stat status;
    int fd = openat(folder_fd, segment->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool ready = tally_init(&tally);
    bool keep = true;
    if (fd >= 0 && ready) {
        uint64_t end = read_through(fd, &tally);
        *out_next_seq = tally.next_seq;
        if (tally.next_seq == 0) {
            keep = false;
        } else if (!tally.sealed && ftruncate(fd, (off_t)end) == 0) {
            seal_file(fd, &tally, end);
        }
        if (fstat(fd, &status) == 0) {
            segment->bytes = (uint64_t)status.st_size;
        }
    } else {
        /* It cannot be read: number on behind all frames that it could hold. */
        *out_next_seq = segment->first_seq + segment->bytes / FRAME_HEADER_BYTES + 1;
    }
    tally_fini(&tally);
    if (fd >= 0) {
        close(fd);
    }
    return keep;
}

static bool add_all(struct tacho_store *store, const struct segment *list, size_t count,
                    uint64_t next_seq)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t last_seq = (i + 1 < count ? list[i + 1].first_seq : next_seq) - 1;
        if (!store_add_closed(store, &list[i], last_seq, -1)) {
            return false;
        }
    }
    return true;
}

int store_recover(struct tacho_store *store, struct tacho_err *err)
{
    struct segment *list = NULL;
    size_t count = 0;
    remove_leftovers(store->folder_fd);
    if (segment_list(store->folder_fd, &list, &count, err) != TACHO_OK) {
        err_prefix(err, "log %s: ", store->path);
        return TACHO_RETRY;
    }
    uint64_t next_seq = 0;
    if (count) {
        struct segment *last = &list[count - 1];
        if (!close_last(store->folder_fd, last, &next_seq)) {
            unlinkat(store->folder_fd, last->name, 0);
            count--;
        }
        next_seq = next_seq > last->first_seq ? next_seq : last->first_seq;
    }
    store->next_seq = next_seq ? next_seq : 1;
    bool added = add_all(store, list, count, store->next_seq);
    free(list);
    return added ? TACHO_OK
                 : tacho_fail(err, TACHO_RETRY, "no memory for the segments of %s", store->path);
}
