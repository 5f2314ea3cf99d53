/* SPDX-License-Identifier: MIT */
/* Frames of a log: their checksum, their bytes, and what is found again when bytes are cut off or
 * changed. */
#include <stdlib.h>
#include <string.h>

#include "core/store_crc.h"
#include "core/store_frame.h"
#include "core/store_scan.h"
#include "core/store_segment.h"
#include "tests/harness.h"

enum { FRAMES = 20 };

static void test_crc_vector(void)
{
    CU_ASSERT_EQUAL(store_crc(0, "123456789", 9), 0xE3069283u);
    CU_ASSERT_EQUAL(store_crc_portable(0, "123456789", 9), 0xE3069283u);
    CU_ASSERT_EQUAL(store_crc(0, "", 0), 0);
}

static void test_crc_paths_agree(void)
{
    uint8_t data[600];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * 167 + i / 7);
    }
    for (size_t from = 0; from < 9; from++) {
        for (size_t length = 0; length + from < sizeof data; length++) {
            uint32_t one = store_crc((uint32_t)length, data + from, length);
            CU_ASSERT_EQUAL_FATAL(one, store_crc_portable((uint32_t)length, data + from, length));
        }
    }
    uint32_t parts = store_crc(store_crc(0, data, 13), data + 13, sizeof data - 13);
    CU_ASSERT_EQUAL(parts, store_crc(0, data, sizeof data));
}

/* Payloads of different lengths; each a MessagePack text that tells its number. */
static void put_numbered(struct buf *out, uint64_t number)
{
    char payload[64];
    int length = snprintf(payload + 2, sizeof payload - 2, "%llu %.*s", (unsigned long long)number,
                          (int)(number % 30), "abcdefghijklmnopqrstuvwxyzabcdefgh");
    payload[0] = (char)0xd9;
    payload[1] = (char)length;
    frame_put(out, FRAME_BATCH, number, payload, (size_t)length + 2);
}

static bool is_numbered(const struct frame *frame)
{
    struct buf expected;
    buf_init(&expected, 1024);
    put_numbered(&expected, frame->seq);
    bool same = expected.length == frame_bytes(frame) && frame->kind == FRAME_BATCH &&
                memcmp(expected.data + FRAME_HEADER_BYTES, frame->payload, frame->length) == 0;
    buf_fini(&expected);
    return same;
}

static void test_bytes(void)
{
    static const uint8_t expected[] = {0x96, 0xd6, 'T',  'A',  'C',  'H',  'O',  0x01,
                                       0xcf, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
                                       0x08, 0xce, 0x00, 0x00, 0x00, 0x01, 0xce};
    struct buf out;
    struct frame frame;
    buf_init(&out, 1024);
    frame_put(&out, FRAME_BATCH, UINT64_C(0x0102030405060708), "\xc0", 1);
    CU_ASSERT_EQUAL_FATAL(out.length, FRAME_HEADER_BYTES + 1);
    CU_ASSERT_EQUAL(memcmp(out.data, expected, sizeof expected), 0);
    CU_ASSERT_EQUAL((uint8_t)out.data[27], 0xc0);
    CU_ASSERT_EQUAL(frame_parse((uint8_t *)out.data, out.length, &frame), FRAME_WHOLE);
    CU_ASSERT_EQUAL(frame.seq, UINT64_C(0x0102030405060708));
    CU_ASSERT_EQUAL(frame.length, 1);
    buf_fini(&out);
}

static void make_log(struct buf *out, size_t ends[FRAMES + 1])
{
    buf_init(out, 1 << 20);
    ends[0] = 0;
    for (uint64_t i = 1; i <= FRAMES; i++) {
        put_numbered(out, i);
        ends[i] = out->length;
    }
}

static void test_cut_anywhere(void)
{
    struct buf log;
    size_t ends[FRAMES + 1];
    make_log(&log, ends);
    for (size_t cut = 0; cut <= log.length; cut++) {
        struct scan scan;
        struct frame frame;
        uint64_t found = 0, whole = 0;
        while (whole < FRAMES && ends[whole + 1] <= cut) {
            whole++;
        }
        scan_init_memory(&scan, log.data, cut);
        while (scan_next(&scan, &frame, NULL) == TACHO_OK) {
            CU_ASSERT_FATAL(is_numbered(&frame) && frame.seq == ++found);
        }
        CU_ASSERT_EQUAL_FATAL(found, whole);
        CU_ASSERT_EQUAL_FATAL(scan.torn_bytes, cut - ends[whole]);
        CU_ASSERT_EQUAL_FATAL(scan.damaged_bytes, 0);
        scan_fini(&scan);
    }
    buf_fini(&log);
}

static void scan_changed(const struct buf *log, uint64_t least)
{
    struct scan scan;
    struct frame frame;
    uint64_t found = 0, last = 0;
    scan_init_memory(&scan, log->data, log->length);
    while (scan_next(&scan, &frame, NULL) == TACHO_OK) {
        CU_ASSERT_FATAL(is_numbered(&frame) && frame.seq > last);
        last = frame.seq;
        found++;
    }
    CU_ASSERT_FATAL(found >= least);
    CU_ASSERT_FATAL(found == FRAMES || scan.damaged_bytes + scan.torn_bytes > 0);
    scan_fini(&scan);
}

static void test_flip_any_byte(void)
{
    struct buf log;
    size_t ends[FRAMES + 1];
    make_log(&log, ends);
    for (size_t at = 0; at < log.length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            log.data[at] ^= (char)(1 << bit);
            scan_changed(&log, FRAMES - 1);
            log.data[at] ^= (char)(1 << bit);
        }
    }
    buf_fini(&log);
}

static void test_holes(void)
{
    struct buf log;
    size_t ends[FRAMES + 1];
    make_log(&log, ends);
    char *copy = malloc(log.length);
    memcpy(copy, log.data, log.length);
    for (size_t at = 0; at + 100 < log.length; at++) {
        memset(log.data + at, 0, 100);
        scan_changed(&log, FRAMES - 4); /* 100 bytes touch four frames of 29 bytes at most */
        memcpy(log.data, copy, log.length);
    }
    free(copy);
    buf_fini(&log);
}

static void test_too_long(void)
{
    struct buf out;
    struct frame frame;
    buf_init(&out, 1024);
    frame_put(&out, FRAME_BATCH, 1, "\xc0", 1);
    out.data[18] = 0x01; /* len of 16 MiB and one */
    out.data[19] = 0x00;
    out.data[20] = 0x00;
    CU_ASSERT_EQUAL(frame_parse((uint8_t *)out.data, out.length, &frame), FRAME_BAD);
    buf_fini(&out);
}

static int read_gap(const char *payload, size_t length, struct segment_gap *out)
{
    struct frame frame;
    struct buf bytes;
    buf_init(&bytes, 1024);
    frame_put(&bytes, FRAME_GAP, 1, payload, length);
    CU_ASSERT_EQUAL(frame_parse((uint8_t *)bytes.data, bytes.length, &frame), FRAME_WHOLE);
    int result = segment_read_gap(&frame, out);
    buf_fini(&bytes);
    return result;
}

/* A payload may claim to hold more than it does, and may hold keys of a later version. */
static void test_maps(void)
{
    static const char claims[] = "\xdf\xff\xff\xff\xff", cut[] = "\x81\xa1";
    static const char later[] = "\x82\xa3new\x92\x01\x81\x02\x03\xa9"
                                "first_seq\x07";
    struct segment_gap gap;
    CU_ASSERT_EQUAL(read_gap(claims, sizeof claims - 1, &gap), TACHO_RETRY);
    CU_ASSERT_EQUAL(read_gap(cut, sizeof cut - 1, &gap), TACHO_RETRY);
    CU_ASSERT_EQUAL(read_gap(later, sizeof later - 1, &gap), TACHO_OK);
    CU_ASSERT_EQUAL(gap.first_seq, 7);
}

static void test_schema_without_id(void)
{
    static const char without[] = "\x81\xa4host\xa4node", with[] = "\x81\xa2id\x07";
    struct frame frame = {
        .kind = FRAME_SCHEMA, .payload = (const uint8_t *)without, .length = sizeof without - 1};
    uint64_t id = 0;
    CU_ASSERT_EQUAL(segment_schema_id(&frame, &id), TACHO_RETRY);
    frame.payload = (const uint8_t *)with;
    frame.length = sizeof with - 1;
    CU_ASSERT_EQUAL(segment_schema_id(&frame, &id), TACHO_OK);
    CU_ASSERT_EQUAL(id, 7);
}

const struct test tests[] = {
    {"schema_without_id", test_schema_without_id},
    {"crc_vector", test_crc_vector},
    {"crc_paths_agree", test_crc_paths_agree},
    {"bytes", test_bytes},
    {"cut_anywhere", test_cut_anywhere},
    {"flip_any_byte", test_flip_any_byte},
    {"holes", test_holes},
    {"too_long", test_too_long},
    {"maps", test_maps},
    {NULL, NULL},
};
