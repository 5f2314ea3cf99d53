/* SPDX-License-Identifier: MIT */
/* MessagePack pull reader; see unpack.h. */
#include "core/unpack.h"

#include <endian.h>
#include <string.h>

#include "core/utf8.h"

void unpack_init(struct unpack *unpack, const void *data, size_t length)
{
    *unpack = (struct unpack){.begin = data, .at = data, .end = (const uint8_t *)data + length};
}

bool unpack_fail(struct unpack *unpack, const char *problem)
{
    if (!unpack->problem) {
        unpack->problem = problem;
    }
    return false;
}

static size_t bytes_left(const struct unpack *unpack)
{
    return (size_t)(unpack->end - unpack->at);
}

/* Reads a big-endian number of 1, 2, 4 or 8 bytes. */
static bool get_number(struct unpack *unpack, unsigned bytes, uint64_t *out)
{
    uint64_t eight = 0;
    if (bytes_left(unpack) < bytes) {
        return unpack_fail(unpack, "the bytes end inside a number");
    }
    if (bytes_left(unpack) >= sizeof eight) {
        memcpy(&eight, unpack->at, sizeof eight); /* One load, then what is too much goes. */
        *out = be64toh(eight) >> (64 - 8 * bytes);
    } else {
        for (unsigned i = 0; i < bytes; i++) {
            eight = eight << 8 | unpack->at[i];
        }
        *out = eight;
    }
    unpack->at += bytes;
    return true;
}

static bool get_data(struct unpack *unpack, uint64_t length, struct unpack_item *out)
{
    if (length > bytes_left(unpack)) {
        return unpack_fail(unpack, "the bytes end inside a text");
    }
    out->length = (uint32_t)length;
    out->as.data = (const char *)unpack->at;
    unpack->at += length;
    return true;
}

static bool get_ext(struct unpack *unpack, uint64_t length, struct unpack_item *out)
{
    uint64_t ext;
    if (!get_number(unpack, 1, &ext)) {
        return false;
    }
    out->ext = (int8_t)ext;
    return get_data(unpack, length, out);
}

static bool get_count(struct unpack *unpack, uint64_t count, unsigned bytes_each,
                      struct unpack_item *out)
{
    if (count > bytes_left(unpack) / bytes_each) {
        return unpack_fail(unpack, "an array or map claims more than there is");
    }
    out->length = (uint32_t)count;
    return true;
}

static void set_integer(struct unpack_item *out, uint64_t number, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    int64_t integer = (int64_t)(number << shift) >> shift;
    if (integer < 0) {
        out->type = UNPACK_NEG;
        out->as.integer = integer;
    } else {
        out->as.number = (uint64_t)integer;
    }
}

static bool get_real(struct unpack *unpack, unsigned bytes, struct unpack_item *out)
{
    uint64_t bits;
    if (!get_number(unpack, bytes, &bits)) {
        return false;
    }
    if (bytes == 4) {
        float single;
        uint32_t half = (uint32_t)bits;
        memcpy(&single, &half, sizeof single);
        out->as.real = (double)single;
    } else {
        memcpy(&out->as.real, &bits, sizeof bits);
    }
    return true;
}

/* What the lead bytes 0xC0 to 0xDF announce, and how wide the number is that follows. */
static const struct {
    uint8_t type, width;
} leads[32] = {
    {UNPACK_NIL, 0},   {0, 0},
    {UNPACK_BOOL, 0},  {UNPACK_BOOL, 0},
    {UNPACK_BIN, 1},   {UNPACK_BIN, 2},
    {UNPACK_BIN, 4},   {UNPACK_EXT, 1},
    {UNPACK_EXT, 2},   {UNPACK_EXT, 4},
    {UNPACK_FLOAT, 4}, {UNPACK_FLOAT, 8},
    {UNPACK_UINT, 1},  {UNPACK_UINT, 2},
    {UNPACK_UINT, 4},  {UNPACK_UINT, 8},
    {UNPACK_NEG, 1},   {UNPACK_NEG, 2},
    {UNPACK_NEG, 4},   {UNPACK_NEG, 8},
    {UNPACK_EXT, 0},   {UNPACK_EXT, 0},
    {UNPACK_EXT, 0},   {UNPACK_EXT, 0},
    {UNPACK_EXT, 0},   {UNPACK_STR, 1},
    {UNPACK_STR, 2},   {UNPACK_STR, 4},
    {UNPACK_ARRAY, 2}, {UNPACK_ARRAY, 4},
    {UNPACK_MAP, 2},   {UNPACK_MAP, 4},
};

/* The forms that are longer than their lead byte. */
static bool get_wide(struct unpack *unpack, uint8_t lead, struct unpack_item *out)
{
    unsigned width = leads[lead - 0xC0].width;
    uint64_t number = 0;
    out->type = leads[lead - 0xC0].type;
    if (out->type == UNPACK_FLOAT) {
        return get_real(unpack, width, out);
    }
    if (width > 0 && !get_number(unpack, width, &number)) {
        return false;
    }
    switch (out->type) {
    case UNPACK_NIL: return true;
    case UNPACK_BOOL: out->as.number = lead & 1; return true;
    case UNPACK_UINT: out->as.number = number; return true;
    case UNPACK_NEG:
        out->type = UNPACK_UINT;
        set_integer(out, number, width);
        return true;
    case UNPACK_STR:
    case UNPACK_BIN: return get_data(unpack, number, out);
    case UNPACK_EXT: return get_ext(unpack, width ? number : UINT64_C(1) << (lead - 0xD4), out);
    case UNPACK_ARRAY: return get_count(unpack, number, 1, out);
    case UNPACK_MAP: return get_count(unpack, number, 2, out);
    default: return unpack_fail(unpack, "a byte that MessagePack does not use");
    }
}

bool unpack_next(struct unpack *unpack, struct unpack_item *out)
{
    if (unpack->problem) {
        return false;
    }
    if (unpack->at == unpack->end) {
        return unpack_fail(unpack, "the bytes end too early");
    }
    uint8_t lead = *unpack->at++;
    if (lead < 0x80) {
        out->type = UNPACK_UINT;
        out->as.number = lead;
        return true;
    }
    if (lead >= 0xE0) {
        out->type = UNPACK_NEG;
        out->as.integer = (int8_t)lead;
        return true;
    }
    if (lead >= 0xC0) {
        return get_wide(unpack, lead, out);
    }
    if (lead >= 0xA0) {
        out->type = UNPACK_STR;
        return get_data(unpack, lead & 31, out);
    }
    out->type = lead >= 0x90 ? UNPACK_ARRAY : UNPACK_MAP;
    return get_count(unpack, lead & 15, lead >= 0x90 ? 1 : 2, out);
}

bool unpack_array(struct unpack *unpack, uint32_t *out_count)
{
    struct unpack_item item;
    if (!unpack_next(unpack, &item)) {
        return false;
    }
    *out_count = item.length;
    return item.type == UNPACK_ARRAY || unpack_fail(unpack, "an array was expected");
}

bool unpack_map(struct unpack *unpack, uint32_t *out_pairs)
{
    struct unpack_item item;
    if (!unpack_next(unpack, &item)) {
        return false;
    }
    *out_pairs = item.length;
    return item.type == UNPACK_MAP || unpack_fail(unpack, "a map was expected");
}

bool unpack_uint(struct unpack *unpack, uint64_t maximum, uint64_t *out)
{
    struct unpack_item item;
    if (!unpack_next(unpack, &item)) {
        return false;
    }
    *out = item.as.number;
    return (item.type == UNPACK_UINT && item.as.number <= maximum) ||
           unpack_fail(unpack, "a whole number in range was expected");
}

bool unpack_int(struct unpack *unpack, int64_t *out)
{
    struct unpack_item item;
    if (!unpack_next(unpack, &item)) {
        return false;
    }
    *out = item.as.integer;
    return item.type == UNPACK_NEG || (item.type == UNPACK_UINT && item.as.number <= INT64_MAX) ||
           unpack_fail(unpack, "an integer was expected");
}

bool unpack_text_ok(struct unpack *unpack, const struct unpack_item *item)
{
    if (item->type != UNPACK_STR) {
        return unpack_fail(unpack, "a text was expected");
    }
    if (item->length > UNPACK_TEXT_LIMIT) {
        return unpack_fail(unpack, "a text is too long");
    }
    if (memchr(item->as.data, '\0', item->length) || !utf8_ok(item->as.data, item->length)) {
        return unpack_fail(unpack, "a text is not UTF-8");
    }
    return true;
}

bool unpack_text(struct unpack *unpack, const char **out_data, uint32_t *out_length)
{
    struct unpack_item item;
    if (!unpack_next(unpack, &item) || !unpack_text_ok(unpack, &item)) {
        return false;
    }
    *out_data = item.as.data;
    *out_length = item.length;
    return true;
}

bool unpack_skip(struct unpack *unpack)
{
    /* Each item takes a byte at least, so this ends; and it needs no stack, however deep. */
    for (uint64_t left = 1; left > 0; left--) {
        struct unpack_item item;
        if (!unpack_next(unpack, &item)) {
            return false;
        }
        left += item.type == UNPACK_ARRAY ? item.length : 0;
        left += item.type == UNPACK_MAP ? 2 * (uint64_t)item.length : 0;
    }
    return true;
}

bool unpack_end(struct unpack *unpack)
{
    return unpack->at == unpack->end || unpack_fail(unpack, "bytes follow the end");
}
