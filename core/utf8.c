/* SPDX-License-Identifier: MIT */
/* UTF-8; see utf8.h. Nearly all text is ASCII, so that is looked at eight bytes at a time. */
#include "core/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_step(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    if (size == 0) {
        return 0;
    }
    if (at[0] < 0x80) {
        return 1;
    }
    size_t length = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    if (at[0] < 0xC2 || at[0] > 0xF4 || size < length) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* The second byte tells overlong forms, surrogates and what lies beyond U+10FFFF. */
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
        (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F)) {
        return 0;
    }
    return length;
}

bool utf8_ok(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length) {
        uint64_t eight;
        if (length - at >= sizeof eight) {
            memcpy(&eight, text + at, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                at += sizeof eight;
                continue;
            }
        }
        size_t step = utf8_step(text + at, length - at);
        if (step == 0) {
            return false;
        }
        at += step;
    }
    return true;
}

size_t utf8_clean(const char *text, size_t length, char *out, size_t size)
{
    size_t at = 0, used = 0;
    while (at < length) {
        size_t step = utf8_step(text + at, length - at);
        const char *from = step ? text + at : UTF8_REPLACEMENT;
        size_t width = step ? step : sizeof UTF8_REPLACEMENT - 1;
        if (width >= size - used) {
            break;
        }
        memcpy(out + used, from, width);
        used += width;
        at += step ? step : 1;
    }
    out[used] = '\0';
    return used;
}
