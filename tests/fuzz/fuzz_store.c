/* SPDX-License-Identifier: MIT */
/*
 * The reader of segments on bytes from anywhere. The first byte chooses: the rest as it is, or cut
 * into payloads that are framed rightly, since a checksum keeps chance away from everything behind
 * it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/store_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Kind, two bytes of length, payload, and again. */
static void frame_pieces(struct buf *out, const uint8_t *data, size_t size)
{
    for (uint64_t seq = 1; size > 3; seq++) {
        size_t length = (size_t)data[1] << 8 | data[2];
        int kind = data[0] % 8;
        data += 3;
        size -= 3;
        length = length < size ? length : size;
        if (length == 0) {
            return;
        }
        frame_put(out, kind, seq, data, length);
        data += length;
        size -= length;
    }
}

static void read_through(const void *data, size_t size)
{
    struct tally tally;
    struct walk walk;
    struct frame frame;
    struct segment_header header;
    if (!tally_init(&tally)) {
        abort();
    }
    walk_init(&walk, -1);
    scan_init_memory(&walk.file, data, size);
    while (walk_next(&walk, &frame, NULL) == TACHO_OK) {
        tally_frame(&tally, &frame);
        if (frame.kind == FRAME_HEADER) {
            segment_read_header(&frame, &header);
        }
    }
    if (walk.file.at > size || walk_damaged_bytes(&walk) > size + walk.unfolded.size) {
        abort();
    }
    walk_fini(&walk);
    tally_fini(&tally);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    if (data[0] & 1) {
        read_through(data + 1, size - 1);
        return 0;
    }
    struct buf framed;
    buf_init(&framed, 1u << 20);
    frame_pieces(&framed, data + 1, size - 1);
    if (framed.length) {
        read_through(framed.data, framed.length);
    }
    buf_fini(&framed);
    return 0;
}
