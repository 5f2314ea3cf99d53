/* SPDX-License-Identifier: MIT */
/*
 * Growable byte buffer with a stated maximum, for encoders and parsers. A failed append (no memory,
 * past the maximum) sets `failed` and later appends do nothing: check once, at the end.
 */
#ifndef TACHO_CORE_BUF_H
#define TACHO_CORE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/plugin.h"

struct buf {
    char *data;
    size_t length;
    size_t size;
    size_t limit;
    bool failed;
};

void buf_init(struct buf *buf, size_t limit_bytes);
void buf_fini(struct buf *buf);

/* Empties it, keeps the memory and clears `failed`. */
void buf_reset(struct buf *buf);

/* Moves the bytes out as a NUL-terminated heap string (to be freed), or NULL after a failure; the
 * buffer is then as after init. */
char *buf_take(struct buf *buf);

/* Makes room for `more` bytes behind length; false when that fails. */
bool buf_reserve_slow(struct buf *buf, size_t more);

static inline bool buf_reserve(struct buf *buf, size_t more)
{
    if (buf->size - buf->length >= more) {
        return !buf->failed;
    }
    return buf_reserve_slow(buf, more);
}

static inline void buf_put(struct buf *buf, const void *data, size_t length)
{
    if (length > 0 && buf_reserve(buf, length)) { /* memcpy may not have NULL, even for nothing */
        memcpy(buf->data + buf->length, data, length);
        buf->length += length;
    }
}

static inline void buf_putc(struct buf *buf, char byte)
{
    if (buf_reserve(buf, 1)) {
        buf->data[buf->length++] = byte;
    }
}

static inline void buf_puts(struct buf *buf, const char *text)
{
    buf_put(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...) TACHO_PRINTF(2, 3);

#endif
