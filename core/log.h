/* SPDX-License-Identifier: MIT */
/*
 * The daemon's own log, one line for each fact, on standard error: with a time on a terminal or in
 * a file, with the syslog priority prefix "<N>" under systemd (JOURNAL_STREAM). A component holds a
 * struct log that carries its name. A line that repeats is counted, and the count is said at most
 * once in ten seconds: with the next other line, or when it comes again after that time. Control
 * characters become blanks. Any thread.
 *
 * Only provider, sink, service, engine, plugins (through the host table) and commands log.
 */
#ifndef TACHO_CORE_LOG_H
#define TACHO_CORE_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/plugin.h"

struct log {
    char name[64];
    pthread_mutex_t lock; /* protects what follows */
    uint64_t last_hash;
    int last_level;
    int64_t last_mono_ns;
    uint64_t repeats;
};

void log_init(struct log *log, const char *name);
void log_fini(struct log *log); /* says what was still counted */

/* enum tacho_log_level; for the whole process. */
void log_set_level(int level);
int log_level(void);

/* "error", "warn", "info", "debug" to a level, or -1. */
int log_parse_level(const char *text);

/* Where lines go instead of standard error (tests, the isolated child); NULL: back. */
typedef void log_writer(void *context, int level, const char *name, const char *text);
void log_set_writer(log_writer *writer, void *context);

void log_text(struct log *log, int level, const char *text);
void log_error(struct log *log, const char *format, ...) TACHO_PRINTF(2, 3);
void log_warn(struct log *log, const char *format, ...) TACHO_PRINTF(2, 3);
void log_info(struct log *log, const char *format, ...) TACHO_PRINTF(2, 3);
void log_debug(struct log *log, const char *format, ...) TACHO_PRINTF(2, 3);

#endif
