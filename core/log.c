/* SPDX-License-Identifier: MIT */
/* Log lines; see log.h. A line is written with one write(2), so lines of several threads and of
 * children do not mix. */
#include "core/log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "core/clock.h"

enum { LINE = 1024 };
#define REPEAT_WINDOW_NS (10 * NS_PER_S)

static atomic_int process_level = TACHO_LOG_INFO;
static struct {
    pthread_mutex_t lock;
    log_writer *writer;
    void *context;
} output = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_init(struct log *log, const char *name)
{
    memset(log, 0, sizeof *log);
    snprintf(log->name, sizeof log->name, "%s", name);
    pthread_mutex_init(&log->lock, NULL);
}

void log_set_level(int level)
{
    atomic_store(&process_level, level);
}

int log_level(void)
{
    return atomic_load(&process_level);
}

int log_parse_level(const char *text)
{
    for (int i = 0; i < (int)(sizeof level_names / sizeof level_names[0]); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            return i;
        }
    }
    return strcmp(text, "warning") == 0 ? TACHO_LOG_WARN : -1;
}

void log_set_writer(log_writer *writer, void *context)
{
    pthread_mutex_lock(&output.lock);
    output.writer = writer;
    output.context = context;
    pthread_mutex_unlock(&output.lock);
}

static void write_stderr(int level, const char *name, const char *text)
{
    static const int priorities[] = {3, 4, 6, 7};
    char line[LINE];
    int length;
    if (getenv("JOURNAL_STREAM")) {
        length = snprintf(line, sizeof line, "<%d>%s: %s\n", priorities[level], name, text);
    } else {
        char now[CLOCK_TEXT];
        clock_format(clock_wall_ns(), now);
        length = snprintf(line, sizeof line, "%.19sZ %-5s %s: %s\n", now, level_names[level], name,
                          text);
    }
    if (length >= (int)sizeof line) {
        length = (int)sizeof line;
        line[length - 1] = '\n';
    }
    if (write(STDERR_FILENO, line, (size_t)length) < 0) {
        /* Standard error is gone; there is nobody left to tell. */
    }
}

/* One fact is one line: what a plugin or a program said may hold newlines or move the cursor. */
static void make_plain(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7F) {
            *text = ' ';
        }
    }
}

static void put_line(int level, const char *name, const char *said)
{
    char text[LINE];
    snprintf(text, sizeof text, "%s", said);
    make_plain(text);
    pthread_mutex_lock(&output.lock);
    if (output.writer) {
        output.writer(output.context, level, name, text);
    } else {
        write_stderr(level, name, text);
    }
    pthread_mutex_unlock(&output.lock);
}

/* Called with the lock held; says how often the last line came again, as loud as it was said. */
static void put_repeats(struct log *log)
{
    if (log->repeats > 0) {
        char text[64];
        snprintf(text, sizeof text, "the last message came %llu more time%s",
                 (unsigned long long)log->repeats, log->repeats == 1 ? "" : "s");
        put_line(log->last_level, log->name, text);
        log->repeats = 0;
    }
}

void log_fini(struct log *log)
{
    pthread_mutex_lock(&log->lock);
    put_repeats(log);
    pthread_mutex_unlock(&log->lock);
    pthread_mutex_destroy(&log->lock);
}

void log_text(struct log *log, int level, const char *text)
{
    if (level < TACHO_LOG_ERROR || level > TACHO_LOG_DEBUG) {
        level = TACHO_LOG_INFO;
    }
    if (level > log_level()) {
        return;
    }
    uint64_t hash = XXH3_64bits(text, strlen(text));
    int64_t now = clock_mono_ns();
    pthread_mutex_lock(&log->lock);
    if (hash == log->last_hash && now - log->last_mono_ns < REPEAT_WINDOW_NS) {
        log->repeats++;
    } else {
        put_repeats(log);
        put_line(level, log->name, text);
        log->last_hash = hash;
        log->last_level = level;
        log->last_mono_ns = now;
    }
    pthread_mutex_unlock(&log->lock);
}

static void log_format(struct log *log, int level, const char *format, va_list args)
{
    if (level <= log_level()) {
        char text[LINE];
        vsnprintf(text, sizeof text, format, args);
        log_text(log, level, text);
    }
}

#define LOG_FUNCTION(function, level)                       \
    void function(struct log *log, const char *format, ...) \
    {                                                       \
        va_list args;                                       \
        va_start(args, format);                             \
        log_format(log, level, format, args);               \
        va_end(args);                                       \
    }

LOG_FUNCTION(log_error, TACHO_LOG_ERROR)
LOG_FUNCTION(log_warn, TACHO_LOG_WARN)
LOG_FUNCTION(log_info, TACHO_LOG_INFO)
LOG_FUNCTION(log_debug, TACHO_LOG_DEBUG)
