/* SPDX-License-Identifier: MIT */
/*
 * Segments: the files of a log. Their names (first frame number, then the time for people, so that
 * names sort as their contents do), the list of a folder, and the payloads of the three kinds of
 * frame that speak of the segment itself: header, gap and seal, MessagePack maps with string keys.
 */
#ifndef TACHO_CORE_STORE_SEGMENT_H
#define TACHO_CORE_STORE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/plugin.h"
#include "core/store_frame.h"

#define SEGMENT_VERSION 1
#define SEGMENT_SUFFIX ".msgpack"
#define SEGMENT_NAME 64 /* room for a name with its NUL */
#define SEGMENT_TEXT 96 /* longest text kept of a payload, with its NUL */

struct segment {
    char name[SEGMENT_NAME];
    uint64_t first_seq; /* of the name */
    uint64_t bytes;
    int64_t changed_ns; /* time of its newest data, as the file says */
};

struct segment_header {
    uint64_t version, session;
    int64_t created_ns;
    char fleet[SEGMENT_TEXT], host[SEGMENT_TEXT], stream[SEGMENT_TEXT], boot[SEGMENT_TEXT],
        program[SEGMENT_TEXT];
};

struct segment_gap {
    uint64_t first_seq, last_seq;
    int64_t wall_ns;
    char stream[SEGMENT_TEXT], reason[SEGMENT_TEXT];
};

/* Numbers of batch frames, and of the values in them. */
struct segment_seal {
    uint64_t frames, values, first_seq, last_seq;
    int64_t first_ns, last_ns;
};

void segment_name(uint64_t first_seq, int64_t wall_ns, char out[SEGMENT_NAME]);

/* True when a file of this name can be a segment. */
bool segment_parse_name(const char *name, uint64_t *out_first_seq);

/* Segments of a folder, oldest first; to be freed. Files that vanish meanwhile are left out. */
int segment_list(int folder_fd, struct segment **out, size_t *out_count, struct tacho_err *err);

/* Each appends one frame. */
void segment_put_header(struct buf *out, uint64_t seq, const struct segment_header *header);
void segment_put_gap(struct buf *out, uint64_t seq, const struct segment_gap *gap);
void segment_put_seal(struct buf *out, uint64_t seq, const struct segment_seal *seal);

/* TACHO_RETRY when the payload is not what its kind says. Members that are not there are 0. */
int segment_read_header(const struct frame *frame, struct segment_header *out);
int segment_read_gap(const struct frame *frame, struct segment_gap *out);
int segment_read_seal(const struct frame *frame, struct segment_seal *out);

/* The seal at the end of a file, without reading the file. */
int segment_find_seal(int fd, struct segment_seal *out);

/* Which schema a schema frame holds, or a batch frame needs. */
int segment_schema_id(const struct frame *frame, uint64_t *out);

#endif
