/* SPDX-License-Identifier: MIT */
/*
 * All frames of one segment in order, those inside compressed blocks too, so that nobody above
 * needs to know which segments are compressed. Damage is skipped and counted; see store_scan.h.
 */
#ifndef TACHO_CORE_STORE_WALK_H
#define TACHO_CORE_STORE_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/buf.h"
#include "core/decode.h"
#include "core/store_scan.h"
#include "core/store_segment.h"

/* Most bytes that a block may unfold to: one frame of the largest size, and its schema. */
#define WALK_BLOCK_MAX (3 * (size_t)FRAME_PAYLOAD_MAX)

struct walk {
    struct scan file;
    struct scan block;
    bool inside;         /* a block */
    struct buf unfolded; /* what the block holds */
    void *unzstd;        /* ZSTD_DCtx */
    uint64_t blocks, bad_blocks;
};

void walk_init(struct walk *walk, int fd); /* borrowed */
void walk_fini(struct walk *walk);

/* As scan_next; blocks are replaced by what they hold. */
int walk_next(struct walk *walk, struct frame *out, struct tacho_err *err);

uint64_t walk_damaged_bytes(const struct walk *walk);
uint64_t walk_damaged_places(const struct walk *walk);

/* What a segment holds, found by reading it. */
struct tally {
    struct batch_pool *pool;
    struct tacho_decoder *decoder;
    struct segment_seal seal;
    uint64_t next_seq;   /* behind everything that batches and gaps speak of */
    uint64_t unreadable; /* whole batch frames that cannot be decoded: their schema is missing */
    bool sealed;         /* the last frame is a seal */
};

bool tally_init(struct tally *tally);
void tally_fini(struct tally *tally);
void tally_frame(struct tally *tally, const struct frame *frame);

#endif
