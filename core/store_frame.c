/* SPDX-License-Identifier: MIT */
/* Frames into bytes and back; see store_frame.h. Which frames follow each other, and what their
 * payloads mean, is the business of others. */
#include "core/store_frame.h"

#include <endian.h>
#include <string.h>

#include "core/store_crc.h"

enum {
    AT_SYNC = 0,
    SYNC_BYTES = 7,
    AT_KIND = 7,
    AT_SEQ_TAG = 8,
    AT_SEQ = 9,
    AT_LEN_TAG = 17,
    AT_LEN = 18,
    AT_CRC_TAG = 22,
    AT_CRC = 23,
};

static const uint8_t sync_mark[SYNC_BYTES] = {0x96, 0xd6, 'T', 'A', 'C', 'H', 'O'};

static uint32_t checksum(const uint8_t *header, const void *payload, size_t length)
{
    return store_crc(store_crc(0, header + AT_KIND, AT_CRC_TAG - AT_KIND), payload, length);
}

void frame_put(struct buf *out, int kind, uint64_t seq, const void *payload, size_t length)
{
    if (length > FRAME_PAYLOAD_MAX) {
        out->failed = true;
    }
    if (!buf_reserve(out, FRAME_HEADER_BYTES + length)) {
        return;
    }
    uint8_t *header = (uint8_t *)out->data + out->length;
    uint64_t wide = htobe64(seq);
    uint32_t len = htobe32((uint32_t)length);
    memcpy(header + AT_SYNC, sync_mark, SYNC_BYTES);
    header[AT_KIND] = (uint8_t)kind;
    header[AT_SEQ_TAG] = 0xcf;
    memcpy(header + AT_SEQ, &wide, sizeof wide);
    header[AT_LEN_TAG] = 0xce;
    memcpy(header + AT_LEN, &len, sizeof len);
    header[AT_CRC_TAG] = 0xce;
    uint32_t crc = htobe32(checksum(header, payload, length));
    memcpy(header + AT_CRC, &crc, sizeof crc);
    memcpy(header + FRAME_HEADER_BYTES, payload, length);
    out->length += FRAME_HEADER_BYTES + length;
}

enum frame_look frame_parse(const uint8_t *data, size_t have, struct frame *out)
{
    size_t known = have < SYNC_BYTES ? have : SYNC_BYTES;
    if (memcmp(data, sync_mark, known) != 0) {
        return FRAME_BAD;
    }
    if (have < FRAME_HEADER_BYTES) {
        return FRAME_SHORT;
    }
    uint64_t seq;
    uint32_t len, crc;
    memcpy(&seq, data + AT_SEQ, sizeof seq);
    memcpy(&len, data + AT_LEN, sizeof len);
    memcpy(&crc, data + AT_CRC, sizeof crc);
    len = be32toh(len);
    if (data[AT_KIND] > 0x7f || data[AT_SEQ_TAG] != 0xcf || data[AT_LEN_TAG] != 0xce ||
        data[AT_CRC_TAG] != 0xce || len == 0 || len > FRAME_PAYLOAD_MAX) {
        return FRAME_BAD;
    }
    if (have - FRAME_HEADER_BYTES < len) {
        return FRAME_SHORT;
    }
    if (checksum(data, data + FRAME_HEADER_BYTES, len) != be32toh(crc)) {
        return FRAME_BAD;
    }
    *out = (struct frame){.seq = be64toh(seq),
                          .payload = data + FRAME_HEADER_BYTES,
                          .length = len,
                          .kind = data[AT_KIND]};
    return FRAME_WHOLE;
}

size_t frame_find(const uint8_t *data, size_t have)
{
    for (size_t at = 1; at < have; at++) {
        const uint8_t *hit = memchr(data + at, sync_mark[0], have - at);
        if (!hit) {
            return have;
        }
        at = (size_t)(hit - data);
        size_t known = have - at < SYNC_BYTES ? have - at : SYNC_BYTES;
        if (memcmp(hit, sync_mark, known) == 0) {
            return at;
        }
    }
    return have;
}
