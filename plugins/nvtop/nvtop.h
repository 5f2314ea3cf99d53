/* SPDX-License-Identifier: MIT */
/*
 * GPUs as the program nvtop tells of them: what the parts of this plugin share.
 *
 * nvtop prints JSON, or nearly so: an array with one object for each device. json.c reads it
 * leniently, fill.c (with value.c and process.c) turns it into a batch, child.c keeps the program
 * under control, nvtop.c decides when it runs.
 */
#ifndef TACHO_PLUGINS_NVTOP_H
#define TACHO_PLUGINS_NVTOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/plugin.h"

#define NVTOP_NS_PER_S INT64_C(1000000000)
#define NVTOP_NS_PER_MS INT64_C(1000000)
#define NVTOP_TEXT 512

struct nvtop_options {
    struct tacho_strings command;
    const char *mode;
    const char *proc;
    int32_t processes;
    int64_t timeout_ns;
    int64_t max_output_bytes;
};

/* ---- json.c: bytes to members -----------------------------------------------------------------
 */

/* A place in the output. Bytes need not be text, and may end anywhere. */
struct nvtop_json {
    const char *at, *end;
};

enum nvtop_kind {
    NVTOP_END,   /* the output ends here */
    NVTOP_CLOSE, /* of the array or object that is being read */
    NVTOP_ARRAY, /* entered */
    NVTOP_OBJECT,
    NVTOP_TEXT_VALUE, /* a string, or a bare word other than null */
    NVTOP_NULL,
};

/* The next value or closing bracket. A text is unescaped, cut to size at a whole character, and has
 * blanks for control bytes. Commas and colons are skipped wherever they stand. */
enum nvtop_kind nvtop_json_next(struct nvtop_json *json, char *text, size_t size);

/* Whether a colon follows: the text just read was a member's name. */
bool nvtop_json_colon(struct nvtop_json *json);

/* Leaves the array or object just entered; false when it is cut. */
bool nvtop_json_skip(struct nvtop_json *json);

/* The length of the array that the bytes begin with, blanks before it included; 0 when it is not
 * complete, -1 when something else stands there. */
ssize_t nvtop_json_array(const char *data, size_t length);

/* ---- fill.c: members to a batch ---------------------------------------------------------------
 */

#define NVTOP_METRIC(id, name, unit, kind, help) id,
enum nvtop_metric {
#include "plugins/nvtop/metrics.def"
    NVTOP_METRICS
};
#undef NVTOP_METRIC

/* Writes one array of devices. Devices that are cut are left out. TACHO_OK, TACHO_PARTIAL (err says
 * what is missing), TACHO_NO_DATA (nvtop found no GPU) or TACHO_RETRY (this is not from nvtop). */
int nvtop_fill(const struct tacho_host *host, const struct nvtop_options *options,
               struct tacho_batch *batch, const char *data, size_t length, struct tacho_err *err);

/* ---- child.c: the process ---------------------------------------------------------------------
 */

struct nvtop_child {
    pid_t pid;   /* leader of its own process group; 0: none */
    pid_t stuck; /* one that not even SIGKILL has ended; 0: none */
    int out, err;
    bool out_open, err_open;
    char *data; /* standard output so far */
    size_t used, size, limit;
    bool flooded;        /* it printed more than the limit */
    char complaint[160]; /* begin of standard error */
};

void nvtop_child_init(struct nvtop_child *child, size_t limit);
/* Ends what runs. */
void nvtop_child_fini(struct nvtop_child *child);

/* Starts the command with more arguments (a list that ends with NULL). Refused while a program that
 * could not be ended is still there. */
int nvtop_child_start(struct nvtop_child *child, const struct tacho_strings *command,
                      const char *const *more, char **envp, struct tacho_err *err);

enum nvtop_wait { NVTOP_READY, NVTOP_ENDED, NVTOP_LATE, NVTOP_WOKEN };

/* Waits for output, at most that long, and takes what is there. NVTOP_ENDED: the program is gone
 * and all is read; NVTOP_WOKEN: `wake` is readable. */
enum nvtop_wait nvtop_child_pump(struct nvtop_child *child, int wake, int64_t wait_ns);

/* Ends the whole group, politely first, and reaps the leader; less than a second. Returns its wait
 * status, or -1. The output stays readable until the next start. */
int nvtop_child_stop(struct nvtop_child *child);

/* "exit code 3", "signal 11 (Segmentation fault)", and what it complained. Returns out. */
const char *nvtop_child_status(const struct nvtop_child *child, int status, char *out, size_t size);

#endif
