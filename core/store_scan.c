/* SPDX-License-Identifier: MIT */
/* Walking over frames; see store_scan.h. pread, not mmap: a file may be cut while it is read. */
#include "core/store_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/err.h"

enum { READ_AHEAD = 256 * 1024 };

void scan_init(struct scan *scan, int fd)
{
    *scan = (struct scan){.fd = fd};
}

void scan_init_memory(struct scan *scan, const void *data, size_t length)
{
    *scan = (struct scan){.fd = -1, .data = (uint8_t *)data, .have = length};
}

void scan_fini(struct scan *scan)
{
    if (scan->fd >= 0) {
        free(scan->data);
    }
    *scan = (struct scan){.fd = -1};
}

/* Drops what lies before `at`, and makes room for `need` bytes from there. */
static bool make_room(struct scan *scan, size_t need)
{
    if (scan->at > 0) {
        memmove(scan->data, scan->data + scan->at, scan->have - scan->at);
        scan->offset += scan->at;
        scan->have -= scan->at;
        scan->at = 0;
    }
    size_t size = need > READ_AHEAD ? need : READ_AHEAD;
    if (scan->size >= size) {
        return true;
    }
    uint8_t *data = realloc(scan->data, size);
    if (!data) {
        return false;
    }
    scan->data = data;
    scan->size = size;
    return true;
}

/* Reads on until `need` bytes lie behind `at`. TACHO_NO_DATA at the file's end. */
static int fill(struct scan *scan, size_t need, struct tacho_err *err)
{
    if (scan->have - scan->at >= need) {
        return TACHO_OK;
    }
    if (scan->fd < 0) {
        return TACHO_NO_DATA;
    }
    if (!make_room(scan, need)) {
        return tacho_fail(err, TACHO_RETRY, "no memory to read %zu bytes of a log", need);
    }
    while (scan->have < need) {
        ssize_t got = pread(scan->fd, scan->data + scan->have, scan->size - scan->have,
                            (off_t)(scan->offset + scan->have));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return err_sys(err, TACHO_RETRY, "reading a log at byte %llu",
                           (unsigned long long)(scan->offset + scan->have));
        }
        if (got == 0) {
            return TACHO_NO_DATA;
        }
        scan->have += (size_t)got;
    }
    return TACHO_OK;
}

static void skip(struct scan *scan, size_t bytes)
{
    scan->damaged_bytes += bytes;
    scan->at += bytes;
}

/* Bytes that the frame at `at` says it needs. */
static size_t claimed_bytes(const struct scan *scan)
{
    const uint8_t *header = scan->data + scan->at;
    if (scan->have - scan->at < FRAME_HEADER_BYTES) {
        return FRAME_HEADER_BYTES;
    }
    return FRAME_HEADER_BYTES + ((size_t)header[18] << 24 | (size_t)header[19] << 16 |
                                 (size_t)header[20] << 8 | (size_t)header[21]);
}

/* At the file's end stands the begin of a frame. Either it is being written, or was torn; or its
 * length is wrong and whole frames follow. True in the last case, at the first of these. */
static bool skip_wrong_length(struct scan *scan, struct frame *out)
{
    size_t at = scan->at;
    while (at < scan->have) {
        at += frame_find(scan->data + at, scan->have - at);
        if (at < scan->have && frame_parse(scan->data + at, scan->have - at, out) == FRAME_WHOLE) {
            skip(scan, at - scan->at);
            return true;
        }
    }
    return false;
}

/* Goes to the next sync mark, reading on as needed. */
static int skip_damage(struct scan *scan, struct tacho_err *err)
{
    for (;;) {
        size_t have = scan->have - scan->at;
        size_t next = frame_find(scan->data + scan->at, have);
        skip(scan, next);
        if (next < have) {
            return TACHO_OK;
        }
        int result = fill(scan, 1, err);
        if (result != TACHO_OK) {
            return result;
        }
        if (frame_parse(scan->data + scan->at, scan->have - scan->at, &(struct frame){0}) !=
            FRAME_BAD) {
            return TACHO_OK;
        }
    }
}

int scan_next(struct scan *scan, struct frame *out, struct tacho_err *err)
{
    bool damaged = false;
    size_t need = FRAME_HEADER_BYTES;
    scan->torn_bytes = 0;
    for (;;) {
        int filled = fill(scan, need, err);
        if (filled == TACHO_RETRY) {
            return filled;
        }
        size_t have = scan->have - scan->at;
        enum frame_look look = have ? frame_parse(scan->data + scan->at, have, out) : FRAME_SHORT;
        if (look == FRAME_SHORT && filled == TACHO_NO_DATA) {
            if (have == 0 || !skip_wrong_length(scan, out)) {
                scan->torn_bytes = have;
                return TACHO_NO_DATA;
            }
            scan->damaged_places += !damaged;
            look = FRAME_WHOLE;
        }
        if (look == FRAME_WHOLE) {
            scan->at += frame_bytes(out);
            return TACHO_OK;
        }
        if (look == FRAME_SHORT) {
            need = claimed_bytes(scan);
            continue;
        }
        scan->damaged_places += !damaged;
        damaged = true;
        int skipped = skip_damage(scan, err);
        if (skipped == TACHO_RETRY) {
            return skipped;
        }
        need = FRAME_HEADER_BYTES;
    }
}

void scan_abandon(struct scan *scan)
{
    if (scan->have > scan->at) {
        scan->damaged_places++;
        skip(scan, scan->have - scan->at);
    }
    scan->torn_bytes = 0;
}
