/* SPDX-License-Identifier: MIT */
/* Byte buffer; see buf.h. */
#include "core/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *buf, size_t limit_bytes)
{
    *buf = (struct buf){.limit = limit_bytes};
}

void buf_fini(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->limit);
}

void buf_reset(struct buf *buf)
{
    buf->length = 0;
    buf->failed = false;
}

char *buf_take(struct buf *buf)
{
    buf_putc(buf, '\0');
    char *data = buf->data;
    if (buf->failed) {
        free(data);
        data = NULL;
    }
    buf_init(buf, buf->limit);
    return data;
}

bool buf_reserve_slow(struct buf *buf, size_t more)
{
    if (buf->failed || more > buf->limit - buf->length) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->length + more;
    size_t size = buf->size ? buf->size : 256;
    while (size < need) {
        size = size > buf->limit / 2 ? buf->limit : size * 2; /* Never wraps. */
    }
    size = size < buf->limit ? size : buf->limit;
    char *data = realloc(buf->data, size);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->size = size;
    return true;
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length >= 0 && buf_reserve(buf, (size_t)length + 1)) {
        vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
}
