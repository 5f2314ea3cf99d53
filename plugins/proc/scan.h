/* SPDX-License-Identifier: MIT */
/*
 * Reading the kernel's texts fast: a cursor that scans numbers and words without copying, tables of
 * "key value" lines, and sources, which are files that stay open and are read from their beginning
 * each time. Nothing here allocates once the buffer has found its size.
 */
#ifndef TACHO_PLUGINS_PROC_SCAN_H
#define TACHO_PLUGINS_PROC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* ---- the cursor ------------------------------------------------------------------------------ */

struct scan {
    const char *at, *end;
};

static inline struct scan scan_text(const char *text, size_t length)
{
    return (struct scan){.at = text, .end = text + length};
}

static inline void scan_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t')) {
        scan->at++;
    }
}

/* As many digits as 64 bits may not hold: checked apart, since it never happens. */
uint64_t scan_long_number(const char *digits, size_t count);

/* The next decimal number of this line; false, and past the blanks only, when there is none. More
 * than 64 bits give the largest number. */
static inline bool scan_u64(struct scan *scan, uint64_t *out)
{
    scan_blanks(scan);
    const char *at = scan->at;
    uint64_t number = 0;
    unsigned digit;
    while (at < scan->end && (digit = (unsigned)(*at - '0')) <= 9) {
        number = number * 10 + digit;
        at++;
    }
    size_t count = (size_t)(at - scan->at);
    *out = count < 20 ? number : scan_long_number(scan->at, count);
    scan->at = at;
    return count > 0;
}

/* The same with a sign. */
static inline bool scan_i64(struct scan *scan, int64_t *out)
{
    scan_blanks(scan);
    bool negative = scan->at < scan->end && *scan->at == '-';
    scan->at += negative;
    uint64_t number = 0;
    bool found = scan_u64(scan, &number);
    int64_t limited = number > INT64_MAX ? INT64_MAX : (int64_t)number;
    *out = negative ? -limited : limited;
    return found;
}

/* A number with decimals, "12.34". */
bool scan_decimal(struct scan *scan, double *out);

/* The next word of this line: up to a blank or the line's end. */
bool scan_word(struct scan *scan, const char **out_word, size_t *out_length);

/* Past the text, when it stands here. */
static inline bool scan_past(struct scan *scan, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, text, length) != 0) {
        return false;
    }
    scan->at += length;
    return true;
}

/* To the beginning of the next line; false at the end of the text. */
static inline bool scan_next_line(struct scan *scan)
{
    const char *newline =
        scan->at < scan->end ? memchr(scan->at, '\n', (size_t)(scan->end - scan->at)) : NULL;
    scan->at = newline ? newline + 1 : scan->end;
    return scan->at < scan->end;
}

/* The rest of this line as a scan of its own; the cursor goes to the next line. False at the end.
 */
bool scan_take_line(struct scan *scan, struct scan *out_line);

/* Copies at most size - 1 bytes and ends them with NUL; control characters become '?'. */
void scan_copy(char *out, size_t size, const char *text, size_t length);

/* ---- tables ---------------------------------------------------------------------------------- */

#define TABLE_KEYS 48
#define TABLE_LINES 512

/* Lines of "key: value" or "key value", of which some are wanted. The kernel keeps their order, so
 * the table remembers which line holds which key and passes over the others. */
struct table {
    const char *const *keys;
    uint8_t lengths[TABLE_KEYS];
    uint32_t count;
    uint32_t skip_words; /* at the beginning of each line */
    uint32_t lines;      /* of the text that the memory is of; 0: none */
    uint32_t used_bytes; /* up to the end of the last wanted line, then */
    int8_t slots[TABLE_LINES];
    uint64_t values[TABLE_KEYS];
    uint64_t found; /* bit for each key that the last text had */
};

void table_init(struct table *table, const char *const *keys, uint32_t count, uint32_t skip_words);

/* Fills values and found. */
void table_parse(struct table *table, const char *text, size_t length);

static inline bool table_has(const struct table *table, uint32_t key)
{
    return table->found >> key & 1;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* What all sources of an instance share. */
struct reader {
    int root;     /* folder that holds proc, sys and etc */
    char *buffer; /* what was read last; one byte more than it says for a NUL */
    size_t size;
    int64_t now_ns;     /* of this tick */
    int64_t retry_ns;   /* pause before a file that could not be opened is tried again */
    uint32_t open_left; /* descriptors that may still be kept */
};

enum source_flag {
    SOURCE_RECORDS = 1,       /* the kernel hands it out in pieces: read until nothing comes */
    SOURCE_SHORT_RECORDS = 2, /* the same, but no record is longer than RECORD_BYTES */
};

/* A file below the root. Zeroed with path and fd -1 it is ready. */
struct source {
    const char *path; /* relative to the root; borrowed */
    int fd;           /* -1: not open */
    uint32_t flags;
    int error; /* what opening said last */
    int64_t retry_at_ns;
};

int reader_init(struct reader *reader, const char *root, int64_t retry_ns);
void reader_fini(struct reader *reader);

/* Reads the whole file (at most `limit` bytes when that is not 0) into the buffer, ended with NUL.
 * The length, or the negative errno. */
ssize_t source_read(struct source *source, struct reader *reader, size_t limit);
void source_close(struct source *source, struct reader *reader);

/* One file, once, not kept open. */
ssize_t reader_once(struct reader *reader, const char *path);

/* The same for files that hold one number or one line (without its newline). */
bool reader_number(struct reader *reader, const char *path, int64_t *out);
bool reader_line(struct reader *reader, const char *path, char *out, size_t size);

/* Calls visit with the name of each entry of a folder but those that begin with a dot, and returns
 * a hash of their names and inodes; 0 when the folder cannot be read. `visit` may read files. */
uint64_t reader_list(struct reader *reader, const char *path,
                     void (*visit)(void *context, const char *name), void *context);

/* Why a value cannot be had, from a negative errno: enum tacho_reason. */
int reason_of(ssize_t failed);

#endif
