/* SPDX-License-Identifier: MIT */
/*
 * Frames: what a log file is made of. Each is one MessagePack array of six,
 * [sync, kind, seq, len, crc, payload], with a header of fixed width:
 *
 *     0  96                 array of six
 *     1  d6 54 41 43 48 4f  extension of four bytes: the sync mark
 *     7  kind               0 … 5
 *     8  cf seq             64 bits, big endian
 *    17  ce len             32 bits: length of the payload
 *    22  ce crc             32 bits: CRC-32C over kind, seq, len (their encoded bytes) and payload
 *    27  payload            one MessagePack value
 */
#ifndef TACHO_CORE_STORE_FRAME_H
#define TACHO_CORE_STORE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"

#define FRAME_HEADER_BYTES 27
#define FRAME_PAYLOAD_MAX (16u << 20) /* a longer len is damage */

enum frame_kind {
    FRAME_HEADER = 0, /* first of a segment: who wrote it, where, when */
    FRAME_BATCH = 1,
    FRAME_BLOCK = 2, /* zstd; inside: schema and batch frames, everything that its batches need */
    FRAME_SCHEMA = 3,
    FRAME_GAP = 4,  /* what was dropped, and why */
    FRAME_SEAL = 5, /* last of a segment: what is in it */
};

struct frame {
    uint64_t seq;
    const uint8_t *payload;
    uint32_t length; /* of the payload */
    uint8_t kind;    /* enum frame_kind, or one of a later version */
};

enum frame_look {
    FRAME_WHOLE, /* a frame, checksum and all */
    FRAME_SHORT, /* may be one, but ends behind these bytes */
    FRAME_BAD,   /* no frame begins here */
};

/* Appends a frame; the payload may be of any MessagePack value of at most FRAME_PAYLOAD_MAX. */
void frame_put(struct buf *out, int kind, uint64_t seq, const void *payload, size_t length);

/* What begins at data. `out` is filled for FRAME_WHOLE; it points into data. */
enum frame_look frame_parse(const uint8_t *data, size_t have, struct frame *out);

/* Where behind data[0] the next frame may begin; `have` when nowhere. The first bytes of a sync
 * mark at the very end count. */
size_t frame_find(const uint8_t *data, size_t have);

/* Bytes of a whole frame. */
static inline size_t frame_bytes(const struct frame *frame)
{
    return FRAME_HEADER_BYTES + (size_t)frame->length;
}

#endif
