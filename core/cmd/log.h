/* SPDX-License-Identifier: MIT */
/* What the subcommands of `tacho log` share; one line for each in log_commands.def. Each gets its
 * own name as argv[0] and answers --help. */
#ifndef TACHO_CORE_CMD_LOG_H
#define TACHO_CORE_CMD_LOG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/batch.h"
#include "core/store_walk.h"

#define SUBCOMMAND(name, function, summary) int function(int argc, char **argv);
#include "core/cmd/log_commands.def"
#undef SUBCOMMAND

/* ---- arguments ------------------------------------------------------------------------------- */

enum log_format { LOG_JSON, LOG_CSV, LOG_OPENMETRICS };

struct log_arguments {
    const char *path;
    const char *metric, *source; /* globs, or NULL: all */
    const char *output;          /* NULL: standard output */
    int64_t from_ns, to_ns;
    enum log_format format;
    bool json, follow, in_place, quiet;
};

/* Which options a subcommand has, beside --help. */
enum log_option {
    LOG_TAKES_JSON = 1,
    LOG_TAKES_FILTER = 2, /* --from, --to, --metric, --source */
    LOG_TAKES_OUTPUT = 4,
    LOG_TAKES_FORMAT = 8,
    LOG_TAKES_FOLLOW = 16,
    LOG_TAKES_IN_PLACE = 32,
};

/* Reads the command line. Returns -1 when the command may go on, else its exit status; help and
 * problems are printed. */
int log_arguments(int argc, char **argv, unsigned takes, const char *help,
                  struct log_arguments *out);

/* ---- files ----------------------------------------------------------------------------------- */

struct log_file {
    char *path;
    const char *name; /* in path */
    uint64_t bytes;
};

struct log_files {
    struct log_file *items;
    size_t count;
    uint64_t bytes;
    bool being_written; /* by a daemon, now */
};

/* The segments of a folder, or the one file; false when a problem was printed. */
bool log_files_init(struct log_files *files, const char *path, const char *command);
void log_files_fini(struct log_files *files);

/* What one segment holds. */
struct log_summary {
    struct segment_header header;
    struct tally tally; /* closed; only its numbers are used */
    uint64_t damaged_bytes, damaged_places;
    uint64_t torn_bytes;
    uint64_t blocks;
    bool has_header, has_seal;
    struct segment_seal seal; /* as the segment says */
};

/* Called with each frame; may be NULL. */
typedef void log_frame_visit(void *context, const struct frame *frame, uint64_t position);

/* Reads a segment from begin to end. False when it cannot be opened or read (printed). */
bool log_summarise(const struct log_file *file, const char *command, log_frame_visit *visit,
                   void *context, struct log_summary *out);

/* ---- printing -------------------------------------------------------------------------------- */

/* A bar on standard error while a long file is read; nothing when that is no terminal. */
struct log_progress {
    uint64_t total;
    int64_t shown_ns;
    bool on, drawn;
};

void log_progress_init(struct log_progress *progress, uint64_t total);
void log_progress_show(struct log_progress *progress, uint64_t done);
void log_progress_clear(struct log_progress *progress);

/* "2026-01-31T23:59:59Z", or "-" when nothing is known. Returns out. */
const char *log_time(int64_t wall_ns, char *out, size_t size);

/* Prints the object on one line each level, and lets go of it. */
void log_print_json(json_t *json);

/* ---- export ---------------------------------------------------------------------------------- */

/* Reads the batches that the arguments ask for; each is sealed, and borrowed by visit, which
 * returns false to stop. Exit status. */
typedef bool log_batch_visit(void *context, const struct tacho_batch *batch);
int log_each_batch(const struct log_arguments *arguments, const char *command,
                   log_batch_visit *visit, void *context);

/* Whether a metric is asked for. */
bool log_wants(const struct log_arguments *arguments, uint32_t metric_id);

int log_export_openmetrics(const struct log_arguments *arguments, const char *command, FILE *out);

#endif
