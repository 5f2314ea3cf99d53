/* SPDX-License-Identifier: MIT */
/*
 * What parent and child of an isolated plugin say to each other: frames of a fixed header and a
 * payload over a stream socket, in the machine's own byte order, since both ends are the same
 * binary. For isolate*.c only.
 *
 * What comes from the child is not trusted: it may have overwritten its own memory before it died.
 */
#ifndef TACHO_CORE_ISOLATE_WIRE_H
#define TACHO_CORE_ISOLATE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/buf.h"

#define WIRE_LIMIT (80u << 20) /* most bytes of one frame */

enum wire_kind {
    /* To the child. */
    WIRE_OPEN = 1,    /* number: log level; payload: texts, see isolate.c */
    WIRE_COLLECT = 2, /* number: deadline */
    WIRE_CALL = 3,    /* payload: command, arguments */
    WIRE_CANCEL = 4,
    /* To the parent. */
    WIRE_RESULT = 16,  /* number: code; payload: the sentence; ends open, collect and call */
    WIRE_SCHEMA = 17,  /* payload: MessagePack */
    WIRE_BATCH = 18,   /* number: enum wire_batch; payload: MessagePack; the batch of a collect */
    WIRE_EMITTED = 19, /* the same, of its own accord */
    WIRE_REPLY = 20,   /* payload: what a command answered */
    WIRE_LOG = 21,     /* number: level; payload: the line */
};

enum wire_batch {
    WIRE_BATCH_ORIGIN = 1,    /* the plugin said whom the batch speaks of */
    WIRE_BATCH_TRUNCATED = 2, /* and it did not fit */
};

struct wire_head {
    uint32_t length; /* of the payload */
    uint32_t kind;
    int64_t number;
};

/* Appends a frame. */
void wire_put(struct buf *out, int kind, int64_t number, const void *payload, size_t length);

/* Begins a frame whose payload is appended by the caller, and ends it; `at` names it in between. */
size_t wire_begin(struct buf *out, int kind, int64_t number);
void wire_end(struct buf *out, size_t at);

/* Appends a text with its NUL, and takes the next one of a payload: NULL when there is none. */
void wire_put_text(struct buf *out, const char *text);
const char *wire_take_text(const char **at, const char *end);

/* Sends all of it, also on a non-blocking socket. 0; or -1, with errno: ETIMEDOUT past the
 * deadline. INT64_MAX: no deadline. */
int wire_send(int fd, const void *data, size_t length, int64_t deadline_ns);

/* Reads what is there now, without waiting. Returns the bytes got, 0 at the end, -1 with errno. */
ssize_t wire_receive(int fd, struct buf *in);

/* The first frame in `in`; its payload is borrowed until wire_drop. 1: there is one, 0: not all of
 * it is here yet, -1: the length is impossible. */
int wire_first(const struct buf *in, struct wire_head *out_head, const char **out_payload);
void wire_drop(struct buf *in, const struct wire_head *head);

#endif
