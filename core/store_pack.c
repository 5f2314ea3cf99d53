/* SPDX-License-Identifier: MIT */
/*
 * Compression of a closed segment: the same frames, gathered in zstd blocks. Each block begins with
 * the schemas that its batches need, so that it can be read alone and a damaged one takes no other
 * with it. A segment that is damaged stays as it is: every byte of it may still be of use. See
 * store_private.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "core/err.h"
#include "core/store_private.h"
#include "core/store_walk.h"

enum {
    BLOCK_BYTES = 256 * 1024, /* of frames, before compression */
    LEVEL = 3,
    WINDOW_LOG = 18, /* one block: also what a reader needs in memory */
    TABLE_LOG = 14,  /* a third of the memory of larger tables, for one part in a hundred of size */
    SCHEMAS_MAX = 1024,
};

struct known_schema {
    uint64_t id;
    struct buf frame;
    uint64_t stretch; /* the last one that has it */
};

struct pack {
    int fd;
    struct walk walk;
    ZSTD_CCtx *zstd;
    struct buf block;  /* frames */
    struct buf folded; /* payload: the head of a bin, and the compressed block */
    struct buf out;    /* framed */
    uint64_t block_seq, block_count;
    uint64_t stretch; /* of batches: begins with a block, and when its schemas are many */
    uint32_t stretch_schemas;
    struct known_schema *schemas;
    size_t schema_count;
    bool sealed;
};

static int write_buf(struct pack *pack)
{
    const char *data = pack->out.data;
    size_t left = pack->out.length;
    while (left && !pack->out.failed) {
        ssize_t wrote = write(pack->fd, data, left);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            return TACHO_RETRY;
        }
        data += wrote;
        left -= (size_t)wrote;
    }
    bool failed = pack->out.failed;
    buf_reset(&pack->out);
    return failed ? TACHO_RETRY : TACHO_OK;
}

/* Compresses behind a place for the head of a bin of 32 bits length. */
static bool fold(struct pack *pack)
{
    enum { HEAD = 5 };
    size_t bound = ZSTD_compressBound(pack->block.length);
    buf_reset(&pack->folded);
    if (pack->block.failed || !buf_reserve(&pack->folded, HEAD + bound)) {
        return false;
    }
    uint8_t *head = (uint8_t *)pack->folded.data;
    size_t length =
        ZSTD_compress2(pack->zstd, head + HEAD, bound, pack->block.data, pack->block.length);
    if (ZSTD_isError(length)) {
        return false;
    }
    head[0] = 0xc6;
    for (int i = 0; i < 4; i++) {
        head[1 + i] = (uint8_t)(length >> (24 - 8 * i));
    }
    pack->folded.length = HEAD + length;
    return true;
}

/* What a reader saw before this it may have forgotten: schemas come again. */
static void begin_stretch(struct pack *pack)
{
    pack->stretch++;
    pack->stretch_schemas = 0;
}

static int end_block(struct pack *pack)
{
    if (pack->block.length == 0) {
        return TACHO_OK;
    }
    if (!fold(pack)) {
        return TACHO_RETRY;
    }
    frame_put(&pack->out, FRAME_BLOCK, pack->block_seq, pack->folded.data, pack->folded.length);
    buf_reset(&pack->block);
    pack->block_count++;
    begin_stretch(pack);
    return write_buf(pack);
}

static struct known_schema *find_schema(struct pack *pack, uint64_t id)
{
    for (size_t i = 0; i < pack->schema_count; i++) {
        if (pack->schemas[i].id == id) {
            return &pack->schemas[i];
        }
    }
    return NULL;
}

static int keep_schema(struct pack *pack, const struct frame *frame)
{
    uint64_t id;
    if (segment_schema_id(frame, &id) != TACHO_OK) {
        return TACHO_NO_DATA;
    }
    if (find_schema(pack, id)) {
        return TACHO_OK;
    }
    if (pack->schema_count == SCHEMAS_MAX) {
        return TACHO_NO_DATA;
    }
    struct known_schema *more =
        realloc(pack->schemas, (pack->schema_count + 1) * sizeof *pack->schemas);
    if (!more) {
        return TACHO_RETRY;
    }
    pack->schemas = more;
    struct known_schema *schema = &pack->schemas[pack->schema_count++];
    *schema = (struct known_schema){.id = id};
    buf_init(&schema->frame, FRAME_HEADER_BYTES + (size_t)FRAME_PAYLOAD_MAX);
    frame_put(&schema->frame, FRAME_SCHEMA, frame->seq, frame->payload, frame->length);
    return schema->frame.failed ? TACHO_RETRY : TACHO_OK;
}

static int add_batch(struct pack *pack, const struct frame *frame)
{
    uint64_t id;
    if (segment_schema_id(frame, &id) != TACHO_OK) {
        return TACHO_NO_DATA;
    }
    struct known_schema *schema = find_schema(pack, id);
    if (!schema) {
        return TACHO_NO_DATA;
    }
    if (pack->block.length + frame_bytes(frame) > BLOCK_BYTES && end_block(pack) != TACHO_OK) {
        return TACHO_RETRY;
    }
    if (pack->block.length == 0) {
        pack->block_seq = frame->seq;
    }
    if (schema->stretch != pack->stretch) {
        if (pack->stretch_schemas++ == STORE_SCHEMAS) {
            begin_stretch(pack);
        }
        buf_put(&pack->block, schema->frame.data, schema->frame.length);
        schema->stretch = pack->stretch;
    }
    frame_put(&pack->block, FRAME_BATCH, frame->seq, frame->payload, frame->length);
    return TACHO_OK;
}

static int add_frame(struct pack *pack, const struct frame *frame)
{
    pack->sealed = frame->kind == FRAME_SEAL;
    switch (frame->kind) {
    case FRAME_BATCH: return add_batch(pack, frame);
    case FRAME_SCHEMA: return keep_schema(pack, frame);
    default:
        if (end_block(pack) != TACHO_OK) {
            return TACHO_RETRY;
        }
        frame_put(&pack->out, frame->kind, frame->seq, frame->payload, frame->length);
        return write_buf(pack);
    }
}

/* A segment that was left without a seal gets one. */
static int add_seal(struct pack *pack, int from_fd)
{
    struct tally tally;
    struct walk walk;
    struct frame frame;
    if (!tally_init(&tally)) {
        tally_fini(&tally);
        return TACHO_RETRY;
    }
    walk_init(&walk, from_fd);
    while (walk_next(&walk, &frame, NULL) == TACHO_OK) {
        tally_frame(&tally, &frame);
    }
    walk_fini(&walk);
    segment_put_seal(&pack->out, tally.seal.last_seq, &tally.seal);
    tally_fini(&tally);
    return write_buf(pack);
}

static int pack_frames(struct pack *pack, int from_fd, struct tacho_err *err)
{
    struct frame frame;
    int result = walk_next(&pack->walk, &frame, err);
    for (; result == TACHO_OK; result = walk_next(&pack->walk, &frame, err)) {
        if (pack->walk.blocks) {
            return TACHO_NO_DATA; /* compressed already */
        }
        int added = add_frame(pack, &frame);
        if (added != TACHO_OK) {
            return added;
        }
    }
    if (result != TACHO_NO_DATA || walk_damaged_bytes(&pack->walk) || pack->walk.file.torn_bytes ||
        pack->block_count + pack->block.length == 0) {
        return result == TACHO_NO_DATA ? TACHO_NO_DATA : TACHO_RETRY;
    }
    if (end_block(pack) != TACHO_OK || (!pack->sealed && add_seal(pack, from_fd) != TACHO_OK)) {
        return TACHO_RETRY;
    }
    return fsync(pack->fd) == 0 ? TACHO_OK : TACHO_RETRY;
}

static bool pack_init(struct pack *pack, int from_fd, int to_fd)
{
    *pack = (struct pack){.fd = to_fd, .stretch = 1};
    walk_init(&pack->walk, from_fd);
    buf_init(&pack->block, WALK_BLOCK_MAX);
    buf_init(&pack->folded, WALK_BLOCK_MAX);
    buf_init(&pack->out, WALK_BLOCK_MAX);
    pack->zstd = ZSTD_createCCtx();
    return pack->zstd &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_compressionLevel, LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_windowLog, WINDOW_LOG)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_hashLog, TABLE_LOG)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(pack->zstd, ZSTD_c_chainLog, TABLE_LOG));
}

static void pack_fini(struct pack *pack)
{
    walk_fini(&pack->walk);
    ZSTD_freeCCtx(pack->zstd);
    buf_fini(&pack->block);
    buf_fini(&pack->folded);
    buf_fini(&pack->out);
    for (size_t i = 0; i < pack->schema_count; i++) {
        buf_fini(&pack->schemas[i].frame);
    }
    free(pack->schemas);
}

int store_pack(int folder_fd, const char *name, char out_temporary[SEGMENT_NAME + 8],
               struct tacho_err *err)
{
    snprintf(out_temporary, SEGMENT_NAME + 8, "%s.tmp", name);
    int from = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int to = from < 0 ? -1
                      : openat(folder_fd, out_temporary,
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int result = TACHO_RETRY;
    if (to >= 0) {
        struct pack pack;
        if (pack_init(&pack, from, to)) {
            result = pack_frames(&pack, from, err);
        }
        pack_fini(&pack);
        close(to);
        if (result != TACHO_OK) {
            unlinkat(folder_fd, out_temporary, 0);
        }
    }
    if (from >= 0) {
        close(from);
    }
    return result == TACHO_RETRY
               ? tacho_fail(err, result, "compressing the segment %s failed", name)
               : result;
}
