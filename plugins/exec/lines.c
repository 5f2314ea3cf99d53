/* SPDX-License-Identifier: MIT */
/* Bytes as they come from a pipe, cut into lines of a bounded length. */
#include <stdlib.h>
#include <string.h>

#include "plugins/exec/exec.h"

void exec_lines_init(struct exec_lines *lines, size_t limit, exec_line_fn *on_line, void *context)
{
    *lines = (struct exec_lines){.limit = limit, .on_line = on_line, .context = context};
}

void exec_lines_fini(struct exec_lines *lines)
{
    free(lines->data);
}

void exec_lines_reset(struct exec_lines *lines)
{
    lines->used = 0;
    lines->number = 0;
    lines->bytes = 0;
    lines->skipping = false;
}

/* Appends to the line under way; past the limit, or without memory, the line is given up. */
static void append(struct exec_lines *lines, const char *data, size_t length)
{
    if (lines->skipping) {
        return;
    }
    size_t whole = lines->used + length + 1;
    if (lines->used + length > lines->limit) {
        lines->skipping = true;
        return;
    }
    if (whole > lines->size) {
        size_t size = whole < 4096 ? 4096 : whole * 2;
        char *moved = realloc(lines->data, size);
        if (!moved) {
            lines->skipping = true;
            return;
        }
        lines->data = moved;
        lines->size = size;
    }
    memcpy(lines->data + lines->used, data, length);
    lines->used += length;
}

static void finish(struct exec_lines *lines)
{
    lines->number++;
    if (lines->skipping) {
        lines->on_line(lines->context, lines->number, NULL, 0);
    } else {
        append(lines, "", 0); /* an empty first line has no buffer yet */
        if (lines->data) {
            lines->data[lines->used] = '\0';
            lines->on_line(lines->context, lines->number, lines->data, lines->used);
        }
    }
    lines->used = 0;
    lines->skipping = false;
}

void exec_lines_feed(struct exec_lines *lines, const char *data, size_t length)
{
    lines->bytes += length;
    while (length > 0) {
        const char *newline = memchr(data, '\n', length);
        size_t part = newline ? (size_t)(newline - data) : length;
        append(lines, data, part);
        if (newline) {
            finish(lines);
            part++;
        }
        data += part;
        length -= part;
    }
}

void exec_lines_end(struct exec_lines *lines)
{
    if (lines->used > 0 || lines->skipping) {
        finish(lines);
    }
}
