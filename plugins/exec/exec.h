/* SPDX-License-Identifier: MIT */
/*
 * A program of the user's own as a provider: what the parts of this plugin share.
 *
 * The program prints JSON lines. One-shot: it is started for each reading, and all its lines make
 * one batch. Stream: it runs on, and each line is a batch, emitted by a thread of ours at once.
 */
#ifndef TACHO_PLUGINS_EXEC_H
#define TACHO_PLUGINS_EXEC_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/plugin.h"

#define EXEC_NS_PER_S INT64_C(1000000000)
#define EXEC_NS_PER_MS INT64_C(1000000)

struct exec_options {
    struct tacho_strings command;
    const char *mode;
    int64_t timeout_ns;
    int64_t restart_ns;
    int64_t silence_ns;
    struct tacho_strings environment;
    const char *folder;
    int64_t max_line_bytes;
    int64_t max_output_bytes;
    int64_t max_rate;
};

/* ---- names.c: metrics that the program speaks of ----------------------------------------------
 */

struct exec_name {
    int32_t index; /* as host->metric gave it */
    int32_t kind;  /* enum tacho_metric_kind */
    char *flags;   /* names of a flag set, or NULL */
};

struct exec_names {
    const struct tacho_host *host;
    json_t *places; /* name to its place in items */
    struct exec_name *items;
    uint32_t count, size;
};

int exec_names_init(struct exec_names *names, const struct tacho_host *host, struct tacho_err *err);
void exec_names_fini(struct exec_names *names);

/* Declares a metric as a line's "metrics" does. */
int exec_names_declare(struct exec_names *names, const struct tacho_metric *metric,
                       struct tacho_err *err);

/* The metric of that name. One that nobody knows yet becomes what the value suggests: a gauge
 * without unit, or an info when it is a text. NULL with the reason in err. */
const struct exec_name *exec_names_find(struct exec_names *names, const char *name,
                                        const json_t *value, struct tacho_err *err);

/* ---- line.c: what a line says -----------------------------------------------------------------
 */

/* The lines that make one batch. */
struct exec_record {
    struct exec_names *names;
    struct tacho_batch *batch;
    json_t *seen;    /* entities so far, to the line that gave them */
    json_t *values;  /* of the short form, written at the end as one entity */
    int64_t wall_ns; /* when the program says it was, or 0 */
    uint64_t values_written;
};

int exec_record_init(struct exec_record *record, struct exec_names *names,
                     struct tacho_batch *batch, struct tacho_err *err);

/* Takes one line (without its newline). A line that is wrong leaves nothing in the batch; err says
 * what was expected. Empty lines are nothing. */
int exec_record_line(struct exec_record *record, uint64_t number, const char *text, size_t length,
                     struct tacho_err *err);

/* Writes what is left, and lets go. Returns how many values the batch has been given. */
uint64_t exec_record_fini(struct exec_record *record);

/* ---- value.c ----------------------------------------------------------------------------------
 */

/* Whether the metric can take the value; err says why not. */
int exec_value_check(const char *name, const struct exec_name *metric, const json_t *value,
                     struct tacho_err *err);
void exec_value_put(const struct tacho_host *host, struct tacho_batch *batch,
                    const struct exec_name *metric, const json_t *value);

/* RFC 3339, or nanoseconds since 1970 as a number. */
int exec_time_parse(const json_t *value, int64_t *out_wall_ns, struct tacho_err *err);

/* "a text", "an object", …: what a JSON value is, for sentences. */
const char *exec_json_type(const json_t *value);

/* ---- lines.c: bytes to lines ------------------------------------------------------------------
 */

/* Called with each line, its NUL-terminated text and its number from 1; text is NULL when the line
 * was longer than the limit. */
typedef void exec_line_fn(void *context, uint64_t number, const char *text, size_t length);

struct exec_lines {
    exec_line_fn *on_line;
    void *context;
    char *data;
    size_t used, size, limit;
    uint64_t number;
    uint64_t bytes; /* of all lines */
    bool skipping;  /* in a line that is too long */
};

void exec_lines_init(struct exec_lines *lines, size_t limit, exec_line_fn *on_line, void *context);
void exec_lines_fini(struct exec_lines *lines);

/* Begins anew, for the next run of the program. */
void exec_lines_reset(struct exec_lines *lines);
void exec_lines_feed(struct exec_lines *lines, const char *data, size_t length);

/* The output has ended: what came without a newline is a line too. */
void exec_lines_end(struct exec_lines *lines);

/* ---- child.c: the process ---------------------------------------------------------------------
 */

struct exec_child {
    pid_t pid; /* leader of its own process group; 0: none */
    int out, err;
    bool out_open, err_open; /* not yet at their end */
};

/* Starts the program in a process group of its own, its input empty. Both pipes are non-blocking.
 */
int exec_child_start(struct exec_child *child, const struct exec_options *options, char **envp,
                     struct tacho_err *err);

/* Whether the leader has ended; it is not reaped. */
bool exec_child_ended(const struct exec_child *child);

/* Ends the whole group, politely first unless the leader has ended already, reaps the leader and
 * closes the pipes. Takes less than a second. Returns the leader's wait status, or -1 when even
 * SIGKILL did not end it. */
int exec_child_stop(struct exec_child *child);

/* "exit code 3", "signal 11 (Segmentation fault)". Returns out. */
const char *exec_child_status(int status, char *out, size_t size);

/* The environment of the program: ours and what the options add. NULL without memory. */
char **exec_environment(const struct exec_options *options);

/* ---- exec.c, oneshot.c, stream.c --------------------------------------------------------------
 */

struct exec_stream;

struct exec {
    const struct tacho_host *host;
    const struct exec_options *options;
    struct exec_names names;
    char **envp;
    int wake; /* eventfd: written by cancel, and by close in stream mode */
    struct exec_lines out, err;
    char complaint[256]; /* last line of standard error */
    struct exec_stream *stream;
};

/* What a wait for output came to. */
enum exec_wait { EXEC_READY, EXEC_ENDED, EXEC_LATE, EXEC_WOKEN };

/* Waits for output until mono_ns and feeds it to exec->out and exec->err. EXEC_ENDED: the program
 * is gone and all its output is read; EXEC_LATE: the time is over. */
enum exec_wait exec_pump(struct exec *exec, struct exec_child *child, int64_t until_ns);

/* Starts a new run with empty line buffers. */
int exec_start(struct exec *exec, struct exec_child *child, struct tacho_err *err);

int exec_oneshot_collect(struct exec *exec, struct tacho_batch *batch, int64_t deadline_ns,
                         struct tacho_err *err);

int exec_stream_open(struct exec *exec, struct tacho_err *err);
void exec_stream_close(struct exec *exec);
int exec_stream_collect(struct exec *exec, struct tacho_err *err);

#endif
