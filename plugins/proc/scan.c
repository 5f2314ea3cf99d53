/* SPDX-License-Identifier: MIT */
/* Cursors, tables and sources; see scan.h. What the texts mean is left to the areas. */
#include "plugins/proc/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/plugin.h"

enum {
    FIRST_BUFFER = 16 * 1024,
    BUFFER_LIMIT = 16 * 1024 * 1024,
    OPEN_SHARE = 4, /* of the descriptors this process may have, one in this many */
    PIECE_BYTES = 4096,
    RECORD_BYTES = 1024,
    OPEN_LIMIT = 512, /* a kept /proc file costs the kernel about a page */
};

uint64_t scan_long_number(const char *digits, size_t count)
{
    uint64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned digit = (unsigned)(digits[i] - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return UINT64_MAX;
        }
        number = number * 10 + digit;
    }
    return number;
}

bool scan_decimal(struct scan *scan, double *out)
{
    static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
    uint64_t whole;
    if (!scan_u64(scan, &whole)) {
        return false;
    }
    uint64_t fraction = 0;
    size_t digits = 0;
    if (scan->at < scan->end && *scan->at == '.') {
        scan->at++;
        while (scan->at < scan->end && (unsigned)(*scan->at - '0') <= 9) {
            if (digits < 9) {
                fraction = fraction * 10 + (unsigned)(*scan->at - '0');
                digits++;
            }
            scan->at++;
        }
    }
    if (whole < UINT64_C(1000000)) {
        *out = (double)(whole * (uint64_t)powers[digits] + fraction) / powers[digits];
    } else {
        *out = (double)whole + (double)fraction / powers[digits];
    }
    return true;
}

bool scan_word(struct scan *scan, const char **out_word, size_t *out_length)
{
    scan_blanks(scan);
    const char *at = scan->at;
    while (at < scan->end && *at != ' ' && *at != '\t' && *at != '\n') {
        at++;
    }
    *out_word = scan->at;
    *out_length = (size_t)(at - scan->at);
    scan->at = at;
    return *out_length > 0;
}

bool scan_take_line(struct scan *scan, struct scan *out_line)
{
    if (scan->at >= scan->end) {
        return false;
    }
    const char *newline = memchr(scan->at, '\n', (size_t)(scan->end - scan->at));
    out_line->at = scan->at;
    out_line->end = newline ? newline : scan->end;
    scan->at = newline ? newline + 1 : scan->end;
    return true;
}

void scan_copy(char *out, size_t size, const char *text, size_t length)
{
    size_t count = length < size - 1 ? length : size - 1;
    for (size_t i = 0; i < count; i++) {
        unsigned char c = (unsigned char)text[i];
        out[i] = c < ' ' || c == 0x7f ? '?' : (char)c;
    }
    out[count] = '\0';
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { SLOT_NONE = -1 };

void table_init(struct table *table, const char *const *keys, uint32_t count, uint32_t skip_words)
{
    memset(table, 0, sizeof *table);
    table->keys = keys;
    table->count = count;
    table->skip_words = skip_words;
    for (uint32_t i = 0; i < count; i++) {
        table->lengths[i] = (uint8_t)strlen(keys[i]);
    }
}

/* Past the key, when this line holds it. */
static bool take_key(const struct table *table, struct scan *line, int slot)
{
    size_t length = table->lengths[slot];
    if ((size_t)(line->end - line->at) <= length ||
        memcmp(line->at, table->keys[slot], length) != 0) {
        return false;
    }
    char next = line->at[length];
    if (next != ':' && next != ' ') {
        return false;
    }
    line->at += length + 1;
    return true;
}

static void skip_words(struct scan *scan, uint32_t count)
{
    const char *word;
    size_t length;
    while (count-- > 0) {
        (void)scan_word(scan, &word, &length);
    }
    if (scan->at < scan->end && *scan->at == ' ') {
        scan->at++;
    }
}

static void take_value(struct table *table, struct scan *scan, int slot)
{
    uint64_t number;
    if (scan_u64(scan, &number)) {
        table->values[slot] = number;
        table->found |= UINT64_C(1) << slot;
    }
}

/* Looks at every key for every line, and remembers where they are. */
static void parse_and_learn(struct table *table, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    uint32_t line = 0;
    table->found = 0;
    table->used_bytes = 0;
    for (bool more = length > 0; more; line++) {
        int slot = SLOT_NONE;
        if (table->skip_words) {
            skip_words(&scan, table->skip_words);
        }
        for (int i = 0; i < (int)table->count && slot == SLOT_NONE; i++) {
            if (take_key(table, &scan, i)) {
                slot = i;
                take_value(table, &scan, i);
            }
        }
        more = scan_next_line(&scan);
        if (slot != SLOT_NONE) {
            table->used_bytes = (uint32_t)(scan.at - text);
        }
        if (line < TABLE_LINES) {
            table->slots[line] = (int8_t)slot;
        }
    }
    table->lines = line < TABLE_LINES ? line : 0;
}

/* False when the text is not as remembered. */
static bool parse_as_known(struct table *table, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    table->found = 0;
    for (uint32_t line = 0; line < table->lines && scan.at < scan.end; line++) {
        int slot = table->slots[line];
        if (slot != SLOT_NONE) {
            if (table->skip_words) {
                skip_words(&scan, table->skip_words);
            }
            if (!take_key(table, &scan, slot)) {
                return false;
            }
            take_value(table, &scan, slot);
        }
        (void)scan_next_line(&scan);
    }
    return scan.at == scan.end;
}

void table_parse(struct table *table, const char *text, size_t length)
{
    if (!table->lines || !parse_as_known(table, text, length)) {
        parse_and_learn(table, text, length);
    }
}

/* ---- sources --------------------------------------------------------------------------------- */

int reader_init(struct reader *reader, const char *root, int64_t retry_ns)
{
    struct rlimit limit;
    *reader = (struct reader){.root = -1, .retry_ns = retry_ns};
    reader->buffer = malloc(FIRST_BUFFER);
    if (!reader->buffer) {
        return -ENOMEM;
    }
    reader->size = FIRST_BUFFER - 1;
    reader->root = open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (reader->root < 0) {
        int error = errno;
        free(reader->buffer);
        return -error;
    }
    reader->open_left = OPEN_LIMIT;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / OPEN_SHARE < OPEN_LIMIT) {
        reader->open_left = (uint32_t)(limit.rlim_cur / OPEN_SHARE);
    }
    return 0;
}

void reader_fini(struct reader *reader)
{
    free(reader->buffer);
    (void)close(reader->root);
}

static bool buffer_grow(struct reader *reader)
{
    size_t size = (reader->size + 1) * 2;
    char *moved = size <= BUFFER_LIMIT ? realloc(reader->buffer, size) : NULL;
    if (!moved) {
        return false;
    }
    reader->buffer = moved;
    reader->size = size - 1;
    return true;
}

/* A descriptor's whole content. Some files come at once: then a short piece is the last. Others
 * come in pieces, each filled with whole records up to a page at least: then a piece that had room
 * for one more record is the last, if the length of records is known, and else an empty one. */
static ssize_t read_all(int fd, struct reader *reader, uint32_t flags)
{
    size_t length = 0;
    size_t last = flags & SOURCE_RECORDS         ? 0
                  : flags & SOURCE_SHORT_RECORDS ? PIECE_BYTES - RECORD_BYTES
                                                 : SIZE_MAX;
    for (;;) {
        if (length == reader->size && !buffer_grow(reader)) {
            return -EFBIG;
        }
        size_t room = reader->size - length;
        ssize_t got = pread(fd, reader->buffer + length, room, (off_t)length);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -errno;
        }
        length += (size_t)got;
        if (got == 0 || ((size_t)got < room && (size_t)got < last)) {
            return (ssize_t)length;
        }
    }
}

static bool source_open(struct source *source, struct reader *reader)
{
    if (source->error && reader->now_ns < source->retry_at_ns) {
        return false;
    }
    source->fd = openat(reader->root, source->path, O_RDONLY | O_CLOEXEC);
    source->error = source->fd < 0 ? errno : 0;
    source->retry_at_ns = reader->now_ns + reader->retry_ns;
    if (source->fd >= 0 && reader->open_left > 0) {
        reader->open_left--;
        return true;
    }
    return source->fd >= 0;
}

ssize_t source_read(struct source *source, struct reader *reader, size_t limit)
{
    bool kept = source->fd >= 0;
    bool keep = kept || reader->open_left > 0;
    if (!kept && !source_open(source, reader)) {
        return -source->error;
    }
    ssize_t length;
    if (limit && limit < reader->size) {
        length = pread(source->fd, reader->buffer, limit, 0);
        length = length < 0 ? -errno : length;
    } else {
        length = read_all(source->fd, reader, source->flags);
    }
    if (!keep) {
        (void)close(source->fd);
        source->fd = -1;
    } else if (length == -ENODEV || length == -ESRCH || length == -ENOENT) {
        source_close(source, reader);
    }
    if (length >= 0) {
        reader->buffer[length] = '\0';
    }
    return length;
}

void source_close(struct source *source, struct reader *reader)
{
    if (source->fd >= 0) {
        (void)close(source->fd);
        source->fd = -1;
        reader->open_left++;
    }
}

ssize_t reader_once(struct reader *reader, const char *path)
{
    int fd = openat(reader->root, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    ssize_t length = read_all(fd, reader, SOURCE_RECORDS);
    (void)close(fd);
    if (length >= 0) {
        reader->buffer[length] = '\0';
    }
    return length;
}

bool reader_number(struct reader *reader, const char *path, int64_t *out)
{
    ssize_t length = reader_once(reader, path);
    if (length <= 0) {
        return false;
    }
    struct scan scan = scan_text(reader->buffer, (size_t)length);
    return scan_i64(&scan, out);
}

bool reader_line(struct reader *reader, const char *path, char *out, size_t size)
{
    ssize_t length = reader_once(reader, path);
    out[0] = '\0';
    if (length <= 0) {
        return false;
    }
    struct scan scan = scan_text(reader->buffer, (size_t)length);
    struct scan line = scan;
    (void)scan_take_line(&scan, &line);
    scan_copy(out, size, line.at, (size_t)(line.end - line.at));
    return out[0] != '\0';
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t reader_list(struct reader *reader, const char *path,
                     void (*visit)(void *context, const char *name), void *context)
{
    /* Not opendir, which allocates. */
    _Alignas(struct dirent64) char entries[4096];
    int folder = openat(reader->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    ssize_t got;
    if (folder < 0) {
        return 0;
    }
    while ((got = getdents64(folder, entries, sizeof entries)) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            at += entry->d_reclen;
            if (entry->d_name[0] != '.') {
                hash = mix(hash, entry->d_name, strlen(entry->d_name));
                hash = mix(hash, &entry->d_ino, sizeof entry->d_ino);
                visit(context, entry->d_name);
            }
        }
    }
    (void)close(folder);
    return hash ? hash : 1;
}

int reason_of(ssize_t failed)
{
    switch (failed) {
    case -EACCES:
    case -EPERM: return TACHO_ABSENT_DENIED;
    case -ENOENT:
    case -ENOTDIR:
    case -EOPNOTSUPP:
    case -ENOSYS: return TACHO_ABSENT_UNSUPPORTED;
    case -ENODEV: return TACHO_ABSENT_LOST;
    default: return TACHO_ABSENT_ERROR;
    }
}
