/* SPDX-License-Identifier: MIT */
/* Looks through the bytes of a file before libconfig does, for what libconfig 1.5 gets wrong
 * without a word: a whole number over 32 bits loses its upper half, an open comment swallows the
 * rest, an open string is reported at the end of the file, and something that is no regular file
 * may block or end the process. Knows just enough of the syntax for that; all else is libconfig's.
 */
#include "core/conf_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FILE_LIMIT_BYTES = 4 << 20,
    INCLUDE_DEPTH = 10, /* libconfig's own limit: past it, it says so */
    SCANS_MAX = 1000,
};

struct scan {
    struct reader *reader;
    const char *main_file; /* names in @include are relative to this one's folder */
    const char *file;
    const char *at, *end;
    int line;
    int depth;
    bool ok;
};

static bool scan_file(struct reader *reader, const char *main_file, const char *path,
                      const char *at_file, int at_line, int depth);

struct conf_file *conf_file_add(struct reader *reader, const char *shown)
{
    for (uint32_t i = 0; i < reader->file_count; i++) {
        if (strcmp(reader->files[i].shown, shown) == 0) {
            return &reader->files[i];
        }
    }
    if (reader->file_count == CONF_FILES_MAX) {
        return NULL;
    }
    struct conf_file *file = &reader->files[reader->file_count++];
    *file = (struct conf_file){.shown = conf_keep(reader, shown)};
    return file;
}

const char *conf_join(struct reader *reader, const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    if (name[0] == '/' || !slash) {
        return conf_keep(reader, name);
    }
    return conf_keepf(reader, "%.*s/%s", (int)(slash == path ? 0 : slash - path), path, name);
}

static void fail_here(struct scan *scan, int line, const char *problem)
{
    conf_problem(scan->reader, scan->file, line, "", "%s", problem);
    scan->ok = false;
}

static bool next_is(const struct scan *scan, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(scan->end - scan->at) >= length && memcmp(scan->at, text, length) == 0;
}

static void skip_line(struct scan *scan)
{
    while (scan->at < scan->end && *scan->at != '\n') {
        scan->at++;
    }
}

static void skip_comment(struct scan *scan)
{
    int begin = scan->line;
    for (scan->at += 2; scan->at < scan->end; scan->at++) {
        if (next_is(scan, "*/")) {
            scan->at += 2;
            return;
        }
        scan->line += *scan->at == '\n';
    }
    fail_here(scan, begin, "the comment that begins here is not closed with */");
}

static void skip_string(struct scan *scan)
{
    int begin = scan->line;
    for (scan->at++; scan->at < scan->end; scan->at++) {
        if (*scan->at == '"') {
            scan->at++;
            return;
        }
        if (*scan->at == '\\' && scan->at + 1 < scan->end) {
            scan->at++;
        }
        scan->line += *scan->at == '\n';
    }
    fail_here(scan, begin, "the string that begins here has no closing quote");
}

static void note_overflow(struct scan *scan, const char *token, int bits, long long left)
{
    struct reader *reader = scan->reader;
    if (reader->overflow_count < CONF_OVERFLOWS_MAX) {
        reader->overflows[reader->overflow_count++] =
            (struct conf_overflow_at){scan->file, scan->line, bits, left, conf_keep(reader, token)};
    }
}

static bool number_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '+' || byte == '-' || byte == '.';
}

/* Compares a whole number with what libconfig leaves of it; token is without its L. */
static void check_whole(struct scan *scan, const char *token, bool hex, bool wide)
{
    errno = 0;
    long long number = strtoll(token, NULL, hex ? 16 : 10);
    if (errno == ERANGE) {
        long long left = hex ? (long long)strtoull(token, NULL, 16) : number;
        note_overflow(scan, token, 64, wide ? left : (int)left);
    } else if (!wide && (number > INT_MAX || number < INT_MIN)) {
        note_overflow(scan, token, 32, (int)number);
    }
}

static void scan_number(struct scan *scan)
{
    char token[80];
    size_t length = 0;
    for (; scan->at < scan->end && number_byte(*scan->at); scan->at++) {
        if (length < sizeof token - 1) {
            token[length++] = *scan->at;
        }
    }
    token[length] = '\0';
    bool wide = false;
    while (length > 0 && token[length - 1] == 'L') {
        token[--length] = '\0';
        wide = true;
    }
    const char *digits = token + strspn(token, "+-");
    bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    digits += hex ? 2 : 0;
    if (*digits && !digits[strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789")]) {
        check_whole(scan, token, hex, wide);
    }
}

static void include_file(struct scan *scan, const char *name, int length)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%.*s", length, name);
    const char *path = conf_join(scan->reader, scan->main_file, copy);
    if (!scan_file(scan->reader, scan->main_file, path, scan->file, scan->line, scan->depth + 1)) {
        scan->ok = false;
    }
}

static void scan_include(struct scan *scan)
{
    const char *begin = scan->at + strlen("@include");
    while (begin < scan->end && (*begin == ' ' || *begin == '\t')) {
        begin++;
    }
    const char *close = begin < scan->end && *begin == '"'
                            ? memchr(begin + 1, '"', (size_t)(scan->end - begin - 1))
                            : NULL;
    if (close && begin[1] == '/') {
        fail_here(scan, scan->line,
                  "@include takes names relative to the folder of the first file; for a whole path "
                  "there is the key `include`");
    } else if (close && close - begin < PATH_MAX) {
        include_file(scan, begin + 1, (int)(close - begin - 1));
    }
    skip_line(scan);
}

static void scan_word(struct scan *scan)
{
    while (scan->at < scan->end && (isalnum((unsigned char)*scan->at) || *scan->at == '_' ||
                                    *scan->at == '-' || *scan->at == '*')) {
        scan->at++;
    }
}

static bool at_number(const struct scan *scan)
{
    char next = scan->at + 1 < scan->end ? scan->at[1] : '\0';
    return isdigit((unsigned char)*scan->at) ||
           ((*scan->at == '-' || *scan->at == '+') && isdigit((unsigned char)next));
}

static void scan_bytes(struct scan *scan)
{
    if (next_is(scan, "\xef\xbb\xbf")) {
        fail_here(scan, 1, "the file begins with a byte order mark; save it as UTF-8 without one");
    }
    while (scan->ok && scan->at < scan->end) {
        char byte = *scan->at;
        if (byte == '\n') {
            scan->line++;
            scan->at++;
        } else if (byte == '\0') {
            fail_here(scan, scan->line, "there is a NUL byte here: this is not a text file");
        } else if (byte == '#' || next_is(scan, "//")) {
            skip_line(scan);
        } else if (next_is(scan, "/*")) {
            skip_comment(scan);
        } else if (byte == '"') {
            skip_string(scan);
        } else if (next_is(scan, "@include")) {
            scan_include(scan);
        } else if (at_number(scan)) {
            scan_number(scan);
        } else if (isalpha((unsigned char)byte) || byte == '*') {
            scan_word(scan);
        } else {
            scan->at++;
        }
    }
}

/* The whole file in memory (to be freed), or NULL with the reason in out_why. */
static char *read_bytes(const char *path, size_t *out_length, const char **out_why)
{
    /* Not blocking: a FIFO must not hold up a reload. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    char *data = NULL;
    *out_why = NULL;
    if (fd < 0 || fstat(fd, &status) != 0) {
        *out_why = strerror(errno);
    } else if (!S_ISREG(status.st_mode)) {
        *out_why = "it is not a regular file";
    } else if (status.st_size > FILE_LIMIT_BYTES) {
        *out_why = "it is larger than 4 MiB";
    } else if (!(data = malloc((size_t)status.st_size + 1))) {
        *out_why = "out of memory";
    } else {
        ssize_t got = pread(fd, data, (size_t)status.st_size, 0);
        *out_length = got > 0 ? (size_t)got : 0;
        *out_why = got < 0 ? strerror(errno) : NULL;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (*out_why) {
        free(data);
        return NULL;
    }
    return data;
}

static bool scan_file(struct reader *reader, const char *main_file, const char *path,
                      const char *at_file, int at_line, int depth)
{
    if (depth > INCLUDE_DEPTH || reader->scans++ > SCANS_MAX) {
        return true;
    }
    size_t length = 0;
    const char *why;
    char *data = read_bytes(path, &length, &why);
    if (!data) {
        conf_problem(reader, at_file ? at_file : path, at_line, "", "cannot read %s: %s",
                     at_file ? path : "this file", why);
        return false;
    }
    struct conf_file *file = conf_file_add(reader, path);
    struct scan scan = {.reader = reader,
                        .main_file = main_file,
                        .file = file ? file->shown : path,
                        .at = data,
                        .end = data + length,
                        .line = 1,
                        .depth = depth,
                        .ok = true};
    scan_bytes(&scan);
    free(data);
    return scan.ok;
}

bool conf_scan(struct reader *reader, const char *path, const struct node *at)
{
    return scan_file(reader, path, path, at ? at->file : NULL, at ? at->line : 0, 0);
}
