/* SPDX-License-Identifier: MIT */
/*
 * Walks over the frames of a file or of memory, and past what is damaged: the one recovery that
 * every reader shares. A damaged place is skipped to the next frame whose checksum is right, and
 * counted. Reads ahead 256 KiB, or one frame where that is longer.
 */
#ifndef TACHO_CORE_STORE_SCAN_H
#define TACHO_CORE_STORE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plugin.h"
#include "core/store_frame.h"

struct scan {
    int fd;          /* borrowed; -1: memory */
    uint64_t offset; /* of data[0] in the file */
    uint8_t *data;   /* own, or borrowed when fd is -1 */
    size_t size, at, have;
    uint64_t damaged_bytes;
    uint64_t damaged_places;
    size_t torn_bytes; /* at the end: bytes behind the last frame that are not a whole one */
};

/* Begins at the file's first byte. */
void scan_init(struct scan *scan, int fd);
void scan_init_memory(struct scan *scan, const void *data, size_t length);
void scan_fini(struct scan *scan);

/* The next whole frame, borrowed until the next call. TACHO_NO_DATA at the end: a file that grows
 * may be asked again. TACHO_RETRY when reading fails. */
int scan_next(struct scan *scan, struct frame *out, struct tacho_err *err);

/* Where the next frame will be looked for. */
static inline uint64_t scan_position(const struct scan *scan)
{
    return scan->offset + scan->at;
}

/* Gives up on a torn end: what lies there counts as damaged. */
void scan_abandon(struct scan *scan);

#endif
