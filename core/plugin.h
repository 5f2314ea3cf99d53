/* SPDX-License-Identifier: MIT */
/*
 * The contract between tacho and its plugins. This is the only header of tacho that a plugin
 * includes; it is installed as <tacho/plugin.h> and needs nothing but the C library.
 *
 * A plugin is one shared object with one exported symbol, `tacho_plugin_v1`: a constant struct
 * tacho_plugin. It has no mutable state at file scope and no undefined symbol of ours: everything
 * it may ask of the host comes in a struct tacho_host at `open`.
 *
 * Both structs begin with their size. Members are only ever appended, never moved or reused. Each
 * side copies the smaller of the two sizes and treats what lies beyond as absent (NULL or 0), so an
 * old plugin runs in a new host and the other way round. A new major version is a new symbol.
 *
 * Ownership is said in four words. Borrowed: valid during this call. Copied: keep yours. Taken: no
 * longer yours, even on failure. Shared: take a reference to keep it.
 *
 * Threads: all calls on one instance are serialised, but may come from different threads; only
 * `cancel` may come while another call is under way. Host functions that take a host may be called
 * from any thread of the plugin's own; an open batch belongs to one thread at a time.
 * A plugin does not fork without exec, set signal handlers, exit, chdir, setenv or setlocale.
 */
#ifndef TACHO_PLUGIN_H
#define TACHO_PLUGIN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TACHO_ABI_MAJOR 1
#define TACHO_ABI_MINOR 0
#define TACHO_PLUGIN_SYMBOL "tacho_plugin_v1"

#if defined(__GNUC__)
#define TACHO_EXPORT __attribute__((visibility("default")))
#define TACHO_PRINTF(at, first) __attribute__((__format__(__printf__, at, first)))
#define TACHO_UNUSED __attribute__((unused))
#else
#define TACHO_EXPORT
#define TACHO_PRINTF(at, first)
#define TACHO_UNUSED
#endif

/* ---- results --------------------------------------------------------------------------------- */

/* What a call came to. The host has one policy for each; none of them ends an instance for good
 * because of a passing error. */
enum tacho_result {
    TACHO_OK = 0,
    TACHO_NO_DATA = 1,     /* nothing to report now; not a failure */
    TACHO_PARTIAL = 2,     /* some of it; what is missing is marked absent in the batch */
    TACHO_RETRY = 3,       /* may work later: retried with a growing, capped pause */
    TACHO_DEVICE_LOST = 4, /* the device is gone; the others go on */
    TACHO_UNSUPPORTED = 5, /* not on this machine: asked again rarely */
    TACHO_CONFIG = 6,      /* the configuration is wrong; waits for a new one */
    TACHO_FATAL = 7,       /* this instance cannot go on: closed, opened again after a pause */
};

#define TACHO_ERR_TEXT 400

/* One failure: a code and one sentence that says what was tried, on what, and what the system said.
 * The storage is the caller's. */
struct tacho_err {
    int32_t code; /* enum tacho_result */
    char text[TACHO_ERR_TEXT];
};

/* Fills err (which may be NULL) and returns code, so that a failing path is one statement. The
 * first text wins: a cause is not overwritten by its consequences. */
static TACHO_UNUSED TACHO_PRINTF(3, 4) int tacho_fail(struct tacho_err *err, int code,
                                                      const char *format, ...)
{
    if (err && err->code == TACHO_OK) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        err->code = code;
    }
    return code;
}

/* ---- tables: options, metrics, commands ------------------------------------------------------ */

enum tacho_option_type {
    TACHO_BOOL = 1,   /* int32_t, 0 or 1 */
    TACHO_INT = 2,    /* int64_t */
    TACHO_FLOAT = 3,  /* double; 5 is accepted for 5.0 */
    TACHO_STRING = 4, /* const char *, never NULL: "" when not given and without default */
    TACHO_DURATION =
        5,          /* int64_t nanoseconds; written "500ms", "10s", "5m", "2h", or bare seconds */
    TACHO_SIZE = 6, /* int64_t bytes; written "8MiB", "1GB", or bare bytes */
    TACHO_STRINGS = 7, /* struct tacho_strings; written ( "a", "b" ) or [ "a", "b" ] or "a" */
    TACHO_CHOICE = 8,  /* const char *, one of `choices` */
};

enum tacho_option_flag {
    TACHO_REQUIRED = 1,
    TACHO_SECRET = 2, /* a path to a file that holds the secret; never printed */
};

struct tacho_strings {
    const char *const *items;
    uint32_t count;
};

/* One option. The host checks type, range and choices, and writes the value at `offset` of the
 * plugin's own options struct. */
struct tacho_option {
    const char *name;
    int32_t type;        /* enum tacho_option_type */
    uint32_t flags;      /* enum tacho_option_flag */
    uint32_t offset;     /* offsetof(struct my_options, member) */
    const char *preset;  /* default, written as in the file; NULL: none */
    double minimum;      /* numbers: checked when minimum < maximum; in base units (durations in */
    double maximum;      /* seconds, sizes in bytes) */
    const char *choices; /* TACHO_CHOICE: "one|two|three" */
    const char *help;    /* one sentence */
};

enum tacho_metric_kind {
    TACHO_GAUGE = 1,   /* a number that goes up and down */
    TACHO_COUNTER = 2, /* a number that only grows, except at a reset */
    TACHO_INFO = 3,    /* a text that rarely changes */
    TACHO_STATE = 4,   /* one of few texts, or a set of flags */
};

/* One metric. A name of the catalogue (core/catalog.def, `tacho plugin metrics`) must have the
 * catalogue's unit and kind; any other name is the plugin's own: lower case, dotted, beginning with
 * a letter. Units are base units: "bytes", "watts", "joules", "celsius", "hertz", "seconds",
 * "percent" (0-100), "bytes/s", "" for a bare number. */
struct tacho_metric {
    const char *name;
    const char *unit;
    int32_t kind;      /* enum tacho_metric_kind */
    const char *flags; /* flag sets: names of bit 0, 1, … as "one|two|three"; else NULL */
    const char *help;  /* one sentence */
};

/* One command of a service. Arguments and reply are JSON objects. */
struct tacho_command {
    const char *name;
    const char *arguments; /* how to call it, for a person: "gpus=N [min_memory=MB]" */
    const char *help;      /* one sentence */
};

/* ---- batches --------------------------------------------------------------------------------- */

struct tacho_batch;    /* what one source saw at one moment */
struct tacho_reply;    /* where a command writes its answer */
struct tacho_decoder;  /* MessagePack in, batches out */
struct tacho_snapshot; /* the newest batch of every source, held still */
struct tacho_store;    /* an append-only log of batches on disk, being written */
struct tacho_cursor;   /* a place in such a log, being read */

/* Why a value is not there. Absent is not zero. */
enum tacho_reason {
    TACHO_ABSENT_UNSUPPORTED = 1, /* this device or driver does not have it */
    TACHO_ABSENT_DENIED = 2,      /* not allowed to see it */
    TACHO_ABSENT_LOST = 3,        /* the device is gone */
    TACHO_ABSENT_NOT_YET = 4,     /* needs a second reading, or is still starting */
    TACHO_ABSENT_STALE = 5,       /* the newest reading is too old to be shown as fresh */
    TACHO_ABSENT_ERROR = 6,       /* reading it failed */
};

enum tacho_value_type {
    TACHO_VALUE_ABSENT = 0,
    TACHO_VALUE_F64 = 1,
    TACHO_VALUE_I64 = 2,
    TACHO_VALUE_TEXT = 3,
    TACHO_VALUE_FLAGS = 4,
    TACHO_VALUE_SUMMARY = 5,
};

/* Many readings of one metric in one value. A member that has no meaning is NaN. */
struct tacho_summary {
    uint64_t count;
    double min, max, mean, stddev;
    double p50, p90, p95, p99;
    double integral; /* over time, in unit × seconds */
};

struct tacho_value {
    uint32_t metric; /* global id: see metric_info */
    uint8_t type;    /* enum tacho_value_type */
    uint8_t reason;  /* enum tacho_reason, when absent */
    uint16_t reserved;
    union {
        double f64;
        int64_t i64;
        uint64_t flags;
        const char *text;
        const struct tacho_summary *summary;
    } as;
};

enum tacho_entity_flag {
    TACHO_VOLATILE = 1, /* comes and goes by the second (a process): kept out of the schema */
};

struct tacho_label {
    const char *name;
    const char *value;
};

/* An entity as a reader sees it; everything in it is borrowed from the batch. */
struct tacho_entity {
    const char *kind; /* "host", "gpu", "mig", "process", "cpu", "disk", "nic", "run", … */
    const char *key;  /* stable: a GPU's UUID, never only its index */
    int32_t parent;   /* index of an earlier entity of this batch, or -1 */
    uint32_t flags;   /* enum tacho_entity_flag */
    const struct tacho_label *labels;
    uint32_t label_count;
    uint32_t value_count;
    const struct tacho_value *values;
};

enum tacho_batch_flag {
    TACHO_SIMULATED = 1, /* not measured: made up, and marked so wherever it is shown */
    TACHO_EVENT = 2,     /* something happened; not part of the state */
    TACHO_REPLAYED = 4,  /* read from a log, not seen now */
    TACHO_REPORT = 8,    /* an aggregated record, its values are summaries */
};

struct tacho_batch_info {
    const char *fleet, *host, *source;
    uint64_t session; /* grows with each start of the daemon on that host */
    uint64_t seq;     /* grows by one with each batch of this source in this session */
    int64_t wall_ns;  /* since 1970, of the reading's begin */
    int64_t mono_ns;
    int64_t duration_ns;
    uint64_t schema; /* content hash of what the rows mean; see encode */
    uint32_t flags;  /* enum tacho_batch_flag */
    uint32_t entity_count;
};

enum tacho_format {
    TACHO_JSON = 1,        /* one object, one line, no newline */
    TACHO_MSGPACK = 2,     /* rows; needs the schema to be read */
    TACHO_SCHEMA = 3,      /* MessagePack; what the rows of TACHO_MSGPACK mean */
    TACHO_OPENMETRICS = 4, /* families of this batch, without the closing "# EOF" */
};

enum tacho_log_level {
    TACHO_LOG_ERROR = 0,
    TACHO_LOG_WARN = 1,
    TACHO_LOG_INFO = 2,
    TACHO_LOG_DEBUG = 3,
};

enum tacho_severity {
    TACHO_SEVERITY_INFO = 0,
    TACHO_SEVERITY_WARNING = 1,
    TACHO_SEVERITY_CRITICAL = 2,
};

enum tacho_setting {
    TACHO_SETTING_INSTANCE = 1, /* name of this instance */
    TACHO_SETTING_FLEET = 2,
    TACHO_SETTING_HOST = 3,
    TACHO_SETTING_STATE_DIR = 4, /* a folder of the daemon's own, or "" */
    TACHO_SETTING_VERSION = 5,
    TACHO_SETTING_INTERVAL = 6, /* of a provider: nanoseconds from call to call, in digits, or "" */
};

/* When written data is safe, stated as a promise in sinks/msgpack/README.md. */
enum tacho_sync {
    TACHO_SYNC_NEVER = 0,
    TACHO_SYNC_SEGMENT = 1,
    TACHO_SYNC_INTERVAL = 2,
    TACHO_SYNC_ALWAYS = 3,
};

struct tacho_store_options {
    uint32_t struct_size;
    uint32_t sync;            /* enum tacho_sync */
    const char *path;         /* folder; made when missing */
    int64_t sync_interval_ns; /* TACHO_SYNC_INTERVAL */
    int64_t segment_bytes;    /* a segment is closed at this size … */
    int64_t segment_age_ns;   /* … or this age */
    int64_t max_bytes;        /* whole folder; 0: no limit */
    int64_t max_age_ns;       /* 0: no limit */
    int64_t min_free_bytes;   /* of the file system; 0: no limit */
    int32_t compress;         /* closed segments are rewritten with zstd */
};

/* Numbers about a store, for a sink's own metrics. */
struct tacho_store_stats {
    uint32_t struct_size;
    uint32_t segments;
    uint64_t bytes, frames, values;
    uint64_t dropped_frames, dropped_segments, io_errors;
    int32_t
        degraded; /* 1 while writing fails; batches wait in memory, then are announced as a gap */
};

/* Who a process is. Texts are "" where there is nothing to say. */
struct tacho_process {
    uint32_t struct_size; /* set by the caller, before the call */
    int32_t pid;
    uint32_t uid;
    uint32_t reserved;
    uint64_t start_ticks;  /* with pid: names the process, as numbers are used again */
    int64_t start_wall_ns; /* 0: not known */
    char user[64];
    char name[64];     /* as the kernel calls it */
    char command[256]; /* with arguments; cut */
    char container[68];
    char runtime[16]; /* docker, podman, containerd, cri-o */
    char pod[40];     /* UID of the Kubernetes pod */
    char job[24];     /* Slurm */
    char unit[128];   /* systemd unit */
};

/* ---- what the host offers -------------------------------------------------------------------- */

struct tacho_host {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;
    void *instance; /* the host's, not yours */

    /* Log one line. Failures that a call also returns are not logged by the plugin. */
    void (*log)(const struct tacho_host *host, int level, const char *text);
    const char *(*setting)(const struct tacho_host *host, int which);
    int64_t (*wall_ns)(void);
    int64_t (*mono_ns)(void);

    /* Adds a metric that the table does not have; copied. Returns its index, to be used like the
     * indices of the table, or -1 (bad name, other unit than the catalogue's, too many). Declaring
     * the same again gives the same index. */
    int32_t (*metric)(const struct tacho_host *host, const struct tacho_metric *metric,
                      struct tacho_err *err);

    /* Batches beyond the one that `collect` is handed: open one, fill it, emit it (taken). */
    struct tacho_batch *(*batch_new)(const struct tacho_host *host);
    int (*emit)(const struct tacho_host *host, struct tacho_batch *batch);
    void (*discard)(struct tacho_batch *batch);

    /* Filling an open batch. `entity` opens the next entity and returns its index; labels and
     * values go to the entity opened last. All strings are copied. `metric` is an index into the
     * plugin's metric table (or what `metric` returned). NaN and infinities become absent (error).
     */
    int32_t (*entity)(struct tacho_batch *batch, const char *kind, const char *key, int32_t parent,
                      uint32_t flags);
    void (*label)(struct tacho_batch *batch, const char *name, const char *value);
    void (*f64)(struct tacho_batch *batch, int32_t metric, double value);
    void (*i64)(struct tacho_batch *batch, int32_t metric, int64_t value);
    void (*text)(struct tacho_batch *batch, int32_t metric, const char *value);
    void (*flags)(struct tacho_batch *batch, int32_t metric, uint64_t bits);
    void (*summary)(struct tacho_batch *batch, int32_t metric, const struct tacho_summary *value);
    void (*absent)(struct tacho_batch *batch, int32_t metric, int reason);
    /* Makes the batch an event of the entity opened last. `type` is a short name such as "xid". */
    void (*event)(struct tacho_batch *batch, const char *type, int severity, const char *message);
    void (*mark)(struct tacho_batch *batch, uint32_t batch_flags);
    /* The moment that the batch describes, when it is not now. */
    void (*stamp)(struct tacho_batch *batch, int64_t wall_ns, int64_t duration_ns);
    /* The batch speaks of another machine or was numbered before (fleet, replay); copied. */
    void (*origin)(struct tacho_batch *batch, const char *fleet, const char *host,
                   const char *source, uint64_t session, uint64_t seq);

    /* Reading a sealed batch. What they return lives as long as the batch. */
    void (*info)(const struct tacho_batch *batch, struct tacho_batch_info *out);
    int (*entity_at)(const struct tacho_batch *batch, uint32_t index, struct tacho_entity *out);
    int (*metric_info)(uint32_t metric_id, struct tacho_metric *out);
    const struct tacho_batch *(*ref)(const struct tacho_batch *batch);
    void (*unref)(const struct tacho_batch *batch);

    /* The batch in a wire format: made once, kept in the batch, shared by all who ask. */
    int (*encode)(const struct tacho_batch *batch, int format, const void **out_data,
                  size_t *out_length);

    /* MessagePack back into batches. Input is not trusted: bad bytes give TACHO_RETRY and a
     * sentence, never more memory than a stated bound. A batch whose schema the decoder has not
     * seen gives TACHO_NO_DATA. The new batch is open: it may still be marked, then emit or discard
     * it. */
    struct tacho_decoder *(*decoder_new)(const struct tacho_host *host);
    void (*decoder_free)(struct tacho_decoder *decoder);
    int (*decode_schema)(struct tacho_decoder *decoder, const void *data, size_t length,
                         struct tacho_err *err);
    int (*decode_batch)(struct tacho_decoder *decoder, const void *data, size_t length,
                        struct tacho_batch **out, struct tacho_err *err);

    /* The state: the newest batch of every source of every host. */
    struct tacho_snapshot *(*snapshot)(const struct tacho_host *host);
    uint32_t (*snapshot_count)(const struct tacho_snapshot *snapshot);
    const struct tacho_batch *(*snapshot_at)(const struct tacho_snapshot *snapshot, uint32_t index);
    void (*snapshot_free)(struct tacho_snapshot *snapshot);

    /* Commands. `call` runs a command of another instance; `reply` appends to an answer. */
    int (*call)(const struct tacho_host *host, const char *instance, const char *command,
                const char *arguments_json, struct tacho_reply *reply, struct tacho_err *err);
    void (*reply)(struct tacho_reply *reply, const char *json, size_t length);

    /* Logs of batches on disk: what the msgpack sink writes, replay reads, and a sink of your own
     * may use as its spool. `append` numbers frames by itself. */
    int (*store_open)(const struct tacho_host *host, const struct tacho_store_options *options,
                      struct tacho_store **out, struct tacho_err *err);
    int (*store_append)(struct tacho_store *store, const struct tacho_batch *batch,
                        struct tacho_err *err);
    int (*store_flush)(struct tacho_store *store, struct tacho_err *err);
    void (*store_stats)(const struct tacho_store *store, struct tacho_store_stats *out);
    void (*store_close)(struct tacho_store *store); /* seals the open segment */
    int (*cursor_open)(const struct tacho_host *host, const char *path, struct tacho_cursor **out,
                       struct tacho_err *err);
    /* Goes to the first batch at or after this time. */
    int (*cursor_seek)(struct tacho_cursor *cursor, int64_t wall_ns, struct tacho_err *err);
    /* The next batch, open (see decode_batch); TACHO_NO_DATA at the end. Damaged frames are
     * skipped. */
    int (*cursor_next)(struct tacho_cursor *cursor, struct tacho_batch **out,
                       struct tacho_err *err);
    void (*cursor_close)(struct tacho_cursor *cursor);

    /* Who a process is, read below `proc` ("/proc", or where a container has the machine's). `out`
     * has its struct_size set. TACHO_NO_DATA: no such process. `process_sees_host` is 0 inside a
     * PID namespace, where numbers that a driver tells mean nothing. */
    int (*process)(const char *proc, int32_t pid, struct tacho_process *out, struct tacho_err *err);
    int (*process_sees_host)(const char *proc);
};

/* Whether this host has a function: for members added after the version you need. */
#define TACHO_HOST_HAS(host, member)                                                        \
    ((host)->struct_size >= offsetof(struct tacho_host, member) + sizeof((host)->member) && \
     (host)->member != NULL)

/* Logs with a format. */
static TACHO_UNUSED TACHO_PRINTF(3, 4) void tacho_logf(const struct tacho_host *host, int level,
                                                       const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    host->log(host, level, text);
}

/* ---- what a plugin is ------------------------------------------------------------------------ */

enum tacho_plugin_flag {
    TACHO_ISOLATE = 1,   /* enters a vendor driver: runs in a child process unless told otherwise */
    TACHO_SYNTHETIC = 2, /* its data is made up: every batch is marked TACHO_SIMULATED */
};

/*
 * Roles, each by its function, any of them NULL:
 *   collect  a provider: called at each interval with an open batch
 *   consume  a sink: called with each sealed batch (borrowed), from the instance's own queue
 *   call     a service: commands that others may call
 */
struct tacho_plugin {
    uint32_t struct_size;
    uint16_t abi_major, abi_minor;

    const char *name;    /* lower case; the file is NAME.so */
    const char *version; /* the plugin's own */
    const char *summary; /* one sentence: what it measures or does */
    uint32_t flags;      /* enum tacho_plugin_flag */

    uint32_t options_size; /* sizeof(struct my_options); the host makes, fills and frees it */
    const struct tacho_option *options;
    uint32_t option_count, option_stride; /* stride: sizeof(struct tacho_option) */
    const struct tacho_metric *metrics;
    uint32_t metric_count, metric_stride;
    const struct tacho_command *commands;
    uint32_t command_count, command_stride;

    /* Makes an instance. `host` and `options` live until `close` returns. On failure nothing is
     * left behind and `close` is not called. */
    int (*open)(const struct tacho_host *host, const void *options, void **out_self,
                struct tacho_err *err);
    void (*close)(void *self);

    /* Fills the batch (borrowed). Should return before mono_ns() reaches deadline_ns; past it the
     * instance is reported as stuck, but nothing is killed and no second call starts. */
    int (*collect)(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                   struct tacho_err *err);

    int (*consume)(void *self, const struct tacho_batch *batch, struct tacho_err *err);
    /* Makes what was consumed as safe as the options promise. Called when the queue runs empty, at
     * least each second while data comes, and before `close`. */
    int (*flush)(void *self, struct tacho_err *err);

    int (*call)(void *self, const char *command, const char *arguments_json,
                struct tacho_reply *reply, struct tacho_err *err);

    /* From another thread: the call under way should return soon. Only sets a flag or wakes a wait.
     */
    void (*cancel)(void *self);
};

#define TACHO_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* The first members of a plugin struct, and its tables. */
#define TACHO_PLUGIN_HEADER                                                             \
    .struct_size = (uint32_t)sizeof(struct tacho_plugin), .abi_major = TACHO_ABI_MAJOR, \
    .abi_minor = TACHO_ABI_MINOR
#define TACHO_OPTIONS(table, type)                              \
    .options_size = (uint32_t)sizeof(type), .options = (table), \
    .option_count = TACHO_COUNT(table), .option_stride = (uint32_t)sizeof(struct tacho_option)
#define TACHO_METRICS(table)                                \
    .metrics = (table), .metric_count = TACHO_COUNT(table), \
    .metric_stride = (uint32_t)sizeof(struct tacho_metric)
#define TACHO_COMMANDS(table)                                 \
    .commands = (table), .command_count = TACHO_COUNT(table), \
    .command_stride = (uint32_t)sizeof(struct tacho_command)

extern TACHO_EXPORT const struct tacho_plugin tacho_plugin_v1;

#ifdef __cplusplus
}
#endif

#endif
