/* SPDX-License-Identifier: MIT */
/*
 * A pull reader over MessagePack bytes: one item at a time, nothing copied, nothing allocated, no
 * byte touched beyond the end. An array or a map gives its count only; its members are the next
 * items. After the first problem every read fails, and `problem` says what it was and `at` where.
 * Why not msgpack-c's: core/adr/0009-pull-reader.md.
 */
#ifndef TACHO_CORE_UNPACK_H
#define TACHO_CORE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unpack_type {
    UNPACK_NIL = 1,
    UNPACK_BOOL,  /* number */
    UNPACK_UINT,  /* number: 0 and above, in whatever form */
    UNPACK_NEG,   /* integer: below 0 */
    UNPACK_FLOAT, /* real */
    UNPACK_STR,   /* data, length */
    UNPACK_BIN,   /* data, length */
    UNPACK_EXT,   /* data, length, ext */
    UNPACK_ARRAY, /* length: items that follow */
    UNPACK_MAP,   /* length: pairs that follow */
};

struct unpack_item {
    enum unpack_type type;
    int8_t ext;
    uint32_t length;
    union {
        uint64_t number;
        int64_t integer;
        double real;
        const char *data; /* into the bytes read; without a NUL */
    } as;
};

struct unpack {
    const uint8_t *begin, *at, *end;
    const char *problem;
};

void unpack_init(struct unpack *unpack, const void *data, size_t length);

/* Always false; keeps the first problem (a constant text). */
bool unpack_fail(struct unpack *unpack, const char *problem);

/* An array's or map's length is never more than what the bytes left could hold. */
bool unpack_next(struct unpack *unpack, struct unpack_item *out);

/* The next item, which must be of the type. A text must be UTF-8 without NUL and at most
 * UNPACK_TEXT_LIMIT long. */
#define UNPACK_TEXT_LIMIT 65535
bool unpack_array(struct unpack *unpack, uint32_t *out_count);
bool unpack_map(struct unpack *unpack, uint32_t *out_pairs);
bool unpack_uint(struct unpack *unpack, uint64_t maximum, uint64_t *out);
bool unpack_int(struct unpack *unpack, int64_t *out);
bool unpack_text(struct unpack *unpack, const char **out_data, uint32_t *out_length);
bool unpack_text_ok(struct unpack *unpack, const struct unpack_item *item);

/* Leaves out the next item with all that is in it. */
bool unpack_skip(struct unpack *unpack);

/* Whether all bytes were read. */
bool unpack_end(struct unpack *unpack);

#endif
