/* SPDX-License-Identifier: MIT */
/* Segments; see store_segment.h. One table for each kind of payload says which member goes under
 * which key, and serves both directions. */
#include "core/store_segment.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/unpack.h"

/* ---- names and lists ------------------------------------------------------------------------- */

enum { SEQ_DIGITS = 20 };

void segment_name(uint64_t first_seq, int64_t wall_ns, char out[SEGMENT_NAME])
{
    time_t seconds = (time_t)(wall_ns / NS_PER_S);
    struct tm utc;
    char when[32] = "19700101T000000Z";
    if (gmtime_r(&seconds, &utc)) {
        strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc);
    }
    snprintf(out, SEGMENT_NAME, "%0*" PRIu64 "-%s" SEGMENT_SUFFIX, SEQ_DIGITS, first_seq, when);
}

bool segment_parse_name(const char *name, uint64_t *out_first_seq)
{
    size_t length = strlen(name), suffix = strlen(SEGMENT_SUFFIX);
    if (length >= SEGMENT_NAME || length < SEQ_DIGITS + 1 + suffix || name[SEQ_DIGITS] != '-' ||
        strspn(name, "0123456789") != SEQ_DIGITS ||
        strcmp(name + length - suffix, SEGMENT_SUFFIX) != 0) {
        return false;
    }
    *out_first_seq = strtoull(name, NULL, 10);
    return true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct segment *)a)->name, ((const struct segment *)b)->name);
}

static bool look_at(int folder_fd, const char *name, struct segment *out)
{
    struct stat status;
    *out = (struct segment){0};
    if (!segment_parse_name(name, &out->first_seq) ||
        fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    memcpy(out->name, name, strlen(name) + 1); /* checked by segment_parse_name */
    out->bytes = (uint64_t)status.st_size;
    out->changed_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
    return true;
}

static int list_open(DIR *folder, struct segment **out, size_t *out_count, struct tacho_err *err)
{
    struct segment *list = NULL;
    size_t count = 0, size = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct segment found;
        if (!look_at(dirfd(folder), entry->d_name, &found)) {
            continue;
        }
        if (count == size) {
            size = size ? size * 2 : 16;
            struct segment *more = realloc(list, size * sizeof *list);
            if (!more) {
                free(list);
                return tacho_fail(err, TACHO_RETRY, "no memory for a list of %zu segments", size);
            }
            list = more;
        }
        list[count++] = found;
    }
    if (count) {
        qsort(list, count, sizeof *list, compare);
    }
    *out = list;
    *out_count = count;
    return TACHO_OK;
}

int segment_list(int folder_fd, struct segment **out, size_t *out_count, struct tacho_err *err)
{
    int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    if (!folder) {
        int result = err_sys(err, TACHO_RETRY, "listing the folder of a log");
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    int result = list_open(folder, out, out_count, err);
    closedir(folder);
    return result;
}

/* ---- payloads -------------------------------------------------------------------------------- */

enum member_type { UNSIGNED, SIGNED, TEXT };

struct member {
    const char *key;
    enum member_type type;
    size_t offset;
};

#define MEMBERS(table) (table), sizeof(table) / sizeof((table)[0])

static const struct member header_members[] = {
    {"format", UNSIGNED, offsetof(struct segment_header, version)},
    {"fleet", TEXT, offsetof(struct segment_header, fleet)},
    {"host", TEXT, offsetof(struct segment_header, host)},
    {"stream", TEXT, offsetof(struct segment_header, stream)},
    {"session", UNSIGNED, offsetof(struct segment_header, session)},
    {"boot", TEXT, offsetof(struct segment_header, boot)},
    {"created_ns", SIGNED, offsetof(struct segment_header, created_ns)},
    {"program", TEXT, offsetof(struct segment_header, program)},
};

static const struct member gap_members[] = {
    {"stream", TEXT, offsetof(struct segment_gap, stream)},
    {"first_seq", UNSIGNED, offsetof(struct segment_gap, first_seq)},
    {"last_seq", UNSIGNED, offsetof(struct segment_gap, last_seq)},
    {"reason", TEXT, offsetof(struct segment_gap, reason)},
    {"time_ns", SIGNED, offsetof(struct segment_gap, wall_ns)},
};

static const struct member seal_members[] = {
    {"frames", UNSIGNED, offsetof(struct segment_seal, frames)},
    {"values", UNSIGNED, offsetof(struct segment_seal, values)},
    {"first_seq", UNSIGNED, offsetof(struct segment_seal, first_seq)},
    {"last_seq", UNSIGNED, offsetof(struct segment_seal, last_seq)},
    {"first_ns", SIGNED, offsetof(struct segment_seal, first_ns)},
    {"last_ns", SIGNED, offsetof(struct segment_seal, last_ns)},
};

static int write_bytes(void *out, const char *data, size_t length)
{
    buf_put(out, data, length);
    return 0;
}

static void pack_text(msgpack_packer *packer, const char *text)
{
    size_t length = strlen(text);
    msgpack_pack_str(packer, length);
    msgpack_pack_str_body(packer, text, length);
}

static void pack_member(msgpack_packer *packer, const struct member *member, const char *base)
{
    const void *at = base + member->offset;
    pack_text(packer, member->key);
    switch (member->type) {
    case UNSIGNED: msgpack_pack_uint64(packer, *(const uint64_t *)at); break;
    case SIGNED: msgpack_pack_int64(packer, *(const int64_t *)at); break;
    case TEXT: pack_text(packer, at); break;
    }
}

static void put_map(struct buf *out, int kind, uint64_t seq, const struct member *members,
                    size_t count, const void *base)
{
    struct buf payload;
    msgpack_packer packer;
    buf_init(&payload, 64u << 10);
    msgpack_packer_init(&packer, &payload, write_bytes);
    msgpack_pack_map(&packer, count);
    for (size_t i = 0; i < count; i++) {
        pack_member(&packer, &members[i], base);
    }
    if (payload.failed) {
        out->failed = true;
    } else {
        frame_put(out, kind, seq, payload.data, payload.length);
    }
    buf_fini(&payload);
}

void segment_put_header(struct buf *out, uint64_t seq, const struct segment_header *header)
{
    put_map(out, FRAME_HEADER, seq, MEMBERS(header_members), header);
}

void segment_put_gap(struct buf *out, uint64_t seq, const struct segment_gap *gap)
{
    put_map(out, FRAME_GAP, seq, MEMBERS(gap_members), gap);
}

void segment_put_seal(struct buf *out, uint64_t seq, const struct segment_seal *seal)
{
    put_map(out, FRAME_SEAL, seq, MEMBERS(seal_members), seal);
}

static void take_member(const struct unpack_item *value, const struct member *member, char *base)
{
    char *at = base + member->offset;
    if (value->type == UNPACK_UINT && member->type != TEXT) {
        memcpy(at, &value->as.number, sizeof(uint64_t));
    } else if (value->type == UNPACK_NEG && member->type == SIGNED) {
        memcpy(at, &value->as.integer, sizeof(int64_t));
    } else if (value->type == UNPACK_STR && member->type == TEXT) {
        size_t length = value->length < SEGMENT_TEXT ? value->length : SEGMENT_TEXT - 1;
        memcpy(at, value->as.data, length);
        at[length] = '\0';
    }
}

static const struct member *find_member(const struct unpack_item *key, const struct member *members,
                                        size_t count)
{
    for (size_t i = 0; key->type == UNPACK_STR && i < count; i++) {
        if (key->length == strlen(members[i].key) &&
            memcmp(key->as.data, members[i].key, key->length) == 0) {
            return &members[i];
        }
    }
    return NULL;
}

/* A pair of a map; keys that nobody knows are left out, with all that is in their values. */
static bool read_pair(struct unpack *unpack, const struct member *members, size_t count, char *base)
{
    struct unpack before = *unpack;
    struct unpack_item key, value;
    if (!unpack_skip(unpack) || !unpack_next(&before, &key)) {
        return false;
    }
    before = *unpack;
    if (!unpack_skip(unpack) || !unpack_next(&before, &value)) {
        return false;
    }
    const struct member *member = find_member(&key, members, count);
    if (member) {
        take_member(&value, member, base);
    }
    return true;
}

static int read_map(const struct frame *frame, const struct member *members, size_t count,
                    void *base)
{
    struct unpack unpack;
    uint32_t pairs;
    unpack_init(&unpack, frame->payload, frame->length);
    if (!unpack_map(&unpack, &pairs)) {
        return TACHO_RETRY;
    }
    for (uint32_t i = 0; i < pairs; i++) {
        if (!read_pair(&unpack, members, count, base)) {
            return TACHO_RETRY;
        }
    }
    return TACHO_OK;
}

int segment_read_header(const struct frame *frame, struct segment_header *out)
{
    *out = (struct segment_header){0};
    return read_map(frame, MEMBERS(header_members), out);
}

int segment_read_gap(const struct frame *frame, struct segment_gap *out)
{
    *out = (struct segment_gap){0};
    return read_map(frame, MEMBERS(gap_members), out);
}

int segment_read_seal(const struct frame *frame, struct segment_seal *out)
{
    *out = (struct segment_seal){0};
    return read_map(frame, MEMBERS(seal_members), out);
}

int segment_find_seal(int fd, struct segment_seal *out)
{
    uint8_t tail[1024];
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return TACHO_RETRY;
    }
    off_t from = status.st_size > (off_t)sizeof tail ? status.st_size - (off_t)sizeof tail : 0;
    ssize_t got = pread(fd, tail, sizeof tail, from);
    size_t have = got > 0 ? (size_t)got : 0;
    struct frame frame;
    for (size_t at = 0; at < have; at += frame_find(tail + at, have - at)) {
        if (frame_parse(tail + at, have - at, &frame) == FRAME_WHOLE && frame.kind == FRAME_SEAL &&
            at + frame_bytes(&frame) == have) {
            return segment_read_seal(&frame, out);
        }
    }
    return TACHO_NO_DATA;
}

int segment_schema_id(const struct frame *frame, uint64_t *out)
{
    static const struct member members[] = {{"id", UNSIGNED, 0}};
    if (frame->kind == FRAME_SCHEMA) {
        *out = 0; /* never an id */
        int result = read_map(frame, MEMBERS(members), out);
        return result == TACHO_OK && *out == 0 ? TACHO_RETRY : result;
    }
    /* A batch is an array whose first item is the schema, as 64 bits. */
    if (frame->length < 10 || frame->payload[0] >> 4 != 9 || frame->payload[1] != 0xcf) {
        return TACHO_RETRY;
    }
    memcpy(out, frame->payload + 2, sizeof *out);
    *out = be64toh(*out);
    return TACHO_OK;
}
