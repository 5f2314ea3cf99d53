/* SPDX-License-Identifier: MIT */
/* Walking through a segment and summing it up; see store_walk.h. */
#include "core/store_walk.h"

#include <zstd.h>

#include "core/err.h"

void walk_init(struct walk *walk, int fd)
{
    *walk = (struct walk){0};
    scan_init(&walk->file, fd);
    scan_init_memory(&walk->block, NULL, 0);
    buf_init(&walk->unfolded, WALK_BLOCK_MAX);
}

void walk_fini(struct walk *walk)
{
    scan_fini(&walk->file);
    buf_fini(&walk->unfolded);
    ZSTD_freeDCtx(walk->unzstd);
    walk->unzstd = NULL;
}

/* The bytes of a MessagePack bin that fills the payload. */
static bool open_bin(const struct frame *frame, const uint8_t **out_data, size_t *out_length)
{
    const uint8_t *at = frame->payload;
    size_t head = 0, length = 0;
    if (frame->length >= 2 && at[0] == 0xc4) {
        head = 2;
        length = at[1];
    } else if (frame->length >= 3 && at[0] == 0xc5) {
        head = 3;
        length = (size_t)at[1] << 8 | at[2];
    } else if (frame->length >= 5 && at[0] == 0xc6) {
        head = 5;
        length = (size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
    }
    *out_data = at + head;
    *out_length = length;
    return head && head + length == frame->length;
}

static bool unfold(struct walk *walk, const struct frame *frame)
{
    const uint8_t *data;
    size_t length;
    if (!open_bin(frame, &data, &length)) {
        return false;
    }
    unsigned long long size = ZSTD_getFrameContentSize(data, length);
    if (size == 0 || size > WALK_BLOCK_MAX) { /* errors are huge numbers */
        return false;
    }
    if (!walk->unzstd) {
        walk->unzstd = ZSTD_createDCtx();
    }
    buf_reset(&walk->unfolded);
    if (!walk->unzstd || !buf_reserve(&walk->unfolded, (size_t)size)) {
        return false;
    }
    size_t got = ZSTD_decompressDCtx(walk->unzstd, walk->unfolded.data, (size_t)size, data, length);
    if (ZSTD_isError(got) || got != size) {
        return false;
    }
    uint64_t bytes = walk->block.damaged_bytes, places = walk->block.damaged_places;
    scan_init_memory(&walk->block, walk->unfolded.data, (size_t)size);
    walk->block.damaged_bytes = bytes;
    walk->block.damaged_places = places;
    return true;
}

int walk_next(struct walk *walk, struct frame *out, struct tacho_err *err)
{
    for (;;) {
        if (walk->inside) {
            if (scan_next(&walk->block, out, NULL) == TACHO_OK) {
                /* A block in a block is none of ours, and could go on without end. */
                if (out->kind != FRAME_BLOCK) {
                    return TACHO_OK;
                }
                continue;
            }
            scan_abandon(&walk->block);
            walk->inside = false;
        }
        int result = scan_next(&walk->file, out, err);
        if (result != TACHO_OK || out->kind != FRAME_BLOCK) {
            return result;
        }
        walk->blocks++;
        walk->inside = unfold(walk, out);
        walk->bad_blocks += !walk->inside;
    }
}

uint64_t walk_damaged_bytes(const struct walk *walk)
{
    return walk->file.damaged_bytes + walk->block.damaged_bytes;
}

uint64_t walk_damaged_places(const struct walk *walk)
{
    return walk->file.damaged_places + walk->block.damaged_places + walk->bad_blocks;
}

/* ---- tally ----------------------------------------------------------------------------------- */

bool tally_init(struct tally *tally)
{
    *tally = (struct tally){0};
    tally->pool = batch_pool_new("", "", "", 0, NULL);
    tally->decoder = tally->pool ? decoder_new(tally->pool) : NULL;
    return tally->decoder != NULL;
}

void tally_fini(struct tally *tally)
{
    if (tally->decoder) {
        decoder_free(tally->decoder);
    }
    batch_pool_free(tally->pool);
}

static void tally_batch(struct tally *tally, const struct frame *frame)
{
    struct segment_seal *seal = &tally->seal;
    struct tacho_batch *batch;
    if (decode_batch(tally->decoder, frame->payload, frame->length, &batch, NULL) != TACHO_OK) {
        tally->unreadable++;
        return;
    }
    if (seal->frames++ == 0) {
        seal->first_seq = frame->seq;
        seal->first_ns = seal->last_ns = batch->wall_ns;
    }
    seal->last_seq = frame->seq;
    seal->values += batch->value_count;
    seal->first_ns = batch->wall_ns < seal->first_ns ? batch->wall_ns : seal->first_ns;
    seal->last_ns = batch->wall_ns > seal->last_ns ? batch->wall_ns : seal->last_ns;
    batch_discard(batch);
}

static void count_up_to(struct tally *tally, uint64_t next_seq)
{
    tally->next_seq = next_seq > tally->next_seq ? next_seq : tally->next_seq;
}

void tally_frame(struct tally *tally, const struct frame *frame)
{
    struct segment_gap gap;
    struct segment_seal seal;
    tally->sealed = frame->kind == FRAME_SEAL;
    switch (frame->kind) {
    case FRAME_SCHEMA: decode_schema(tally->decoder, frame->payload, frame->length, NULL); break;
    case FRAME_BATCH:
        tally_batch(tally, frame);
        count_up_to(tally, frame->seq + 1);
        break;
    case FRAME_GAP:
        if (segment_read_gap(frame, &gap) == TACHO_OK) {
            count_up_to(tally, gap.last_seq + 1);
        }
        break;
    case FRAME_SEAL:
        if (segment_read_seal(frame, &seal) == TACHO_OK && seal.frames) {
            count_up_to(tally, seal.last_seq + 1);
        }
        break;
    default: break;
    }
}
