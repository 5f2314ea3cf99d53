/* SPDX-License-Identifier: MIT */
/*
 * Sink: a log of batches on disk. The log itself (format, segments, recovery, retention) is the
 * host's; here are its options, and the metrics that tell how it is.
 */
#include <stdlib.h>
#include <string.h>

#include "core/plugin.h"

#define NS_PER_S INT64_C(1000000000)
#define REPORT_NS (10 * NS_PER_S) /* how often the metrics are emitted */

struct msgpack_options {
    const char *path, *sync;
    int64_t segment_size, segment_age_ns;
    int64_t max_bytes, max_age_ns, min_free;
    int32_t compress;
};

struct msgpack {
    const struct tacho_host *host;
    struct tacho_store *store;
    int64_t reported_ns;
    int32_t degraded; /* as reported last */
};

enum metric_index {
    M_BYTES,
    M_SEGMENTS,
    M_FRAMES,
    M_VALUES,
    M_DROPPED_FRAMES,
    M_DROPPED_SEGMENTS,
    M_IO_ERRORS,
    M_DEGRADED,
    M_COUNT,
};

static const struct tacho_metric metric_table[] = {
    [M_BYTES] = {"log.bytes", "bytes", TACHO_GAUGE, NULL, "Size of all segments of the log"},
    [M_SEGMENTS] = {"log.segments", "", TACHO_GAUGE, NULL, "Segments of the log"},
    [M_FRAMES] = {"log.frames", "", TACHO_COUNTER, NULL, "Batches written since the start"},
    [M_VALUES] = {"log.values", "", TACHO_COUNTER, NULL, "Values written since the start"},
    [M_DROPPED_FRAMES] = {"log.dropped_frames", "", TACHO_COUNTER, NULL,
                          "Batches dropped by retention, or while writing failed"},
    [M_DROPPED_SEGMENTS] = {"log.dropped_segments", "", TACHO_COUNTER, NULL,
                            "Segments dropped by retention, or to make room"},
    [M_IO_ERRORS] = {"log.io_errors", "", TACHO_COUNTER, NULL, "Failed writes and syncs"},
    [M_DEGRADED] = {"log.degraded", "", TACHO_GAUGE, NULL,
                    "1 while writing fails and batches wait in memory"},
};

_Static_assert(TACHO_COUNT(metric_table) == M_COUNT, "one row for each index");

#define AT(member) .offset = offsetof(struct msgpack_options, member)

static const struct tacho_option option_table[] = {
    {.name = "path",
     .type = TACHO_STRING,
     .flags = TACHO_REQUIRED,
     AT(path),
     .help = "Folder of the log; made when missing"},
    {.name = "sync",
     .type = TACHO_STRING,
     AT(sync),
     .preset = "1s",
     .help = "When written data is made safe against a power loss: a duration, always, segment or "
             "never"},
    {.name = "segment_size",
     .type = TACHO_SIZE,
     AT(segment_size),
     .preset = "8MiB",
     .minimum = 4096,
     .maximum = 1024. * 1024 * 1024,
     .help = "A segment is closed at this size"},
    {.name = "segment_age",
     .type = TACHO_DURATION,
     AT(segment_age_ns),
     .preset = "10m",
     .minimum = 1,
     .maximum = 366. * 86400,
     .help = "A segment is closed at this age"},
    {.name = "max_bytes",
     .type = TACHO_SIZE,
     AT(max_bytes),
     .preset = "1GiB",
     .help = "The oldest segments are dropped above this size of the whole log; 0: no limit"},
    {.name = "max_age",
     .type = TACHO_DURATION,
     AT(max_age_ns),
     .preset = "0s",
     .help = "Segments whose newest data is older are dropped; 0: no limit"},
    {.name = "min_free",
     .type = TACHO_SIZE,
     AT(min_free),
     .preset = "0",
     .help = "The oldest segments are dropped while the file system has less room; 0: no limit"},
    {.name = "compress",
     .type = TACHO_BOOL,
     AT(compress),
     .preset = "true",
     .help = "Closed segments are compressed with zstd"},
};

/* "500ms", "1s", "5m": what the option `sync` may hold beside its three words. */
static int parse_interval(const char *text, int64_t *out_ns)
{
    static const struct {
        const char *suffix;
        double factor;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    if (*text < '0' || *text > '9') {
        return -1;
    }
    char *end;
    double number = strtod(text, &end);
    for (uint32_t i = 0; i < TACHO_COUNT(units); i++) {
        double ns = number * units[i].factor;
        if (strcmp(end, units[i].suffix) == 0 && ns >= 1e6 && ns <= 86400e9) {
            *out_ns = (int64_t)ns;
            return 0;
        }
    }
    return -1;
}

static int parse_sync(const char *text, struct tacho_store_options *out, struct tacho_err *err)
{
    if (strcmp(text, "always") == 0) {
        out->sync = TACHO_SYNC_ALWAYS;
    } else if (strcmp(text, "segment") == 0) {
        out->sync = TACHO_SYNC_SEGMENT;
    } else if (strcmp(text, "never") == 0) {
        out->sync = TACHO_SYNC_NEVER;
    } else if (parse_interval(text, &out->sync_interval_ns) == 0) {
        out->sync = TACHO_SYNC_INTERVAL;
    } else {
        return tacho_fail(err, TACHO_CONFIG,
                          "sync: \"%s\" is no duration of 1ms to 24h, and not \"always\", "
                          "\"segment\" or \"never\"",
                          text);
    }
    return TACHO_OK;
}

static int open_sink(const struct tacho_host *host, const void *options, void **out_self,
                     struct tacho_err *err)
{
    const struct msgpack_options *own = options;
    struct tacho_store_options store = {.struct_size = (uint32_t)sizeof store,
                                        .path = own->path,
                                        .segment_bytes = own->segment_size,
                                        .segment_age_ns = own->segment_age_ns,
                                        .max_bytes = own->max_bytes,
                                        .max_age_ns = own->max_age_ns,
                                        .min_free_bytes = own->min_free,
                                        .compress = own->compress};
    int result = parse_sync(own->sync, &store, err);
    if (result != TACHO_OK) {
        return result;
    }
    struct msgpack *sink = calloc(1, sizeof *sink);
    if (!sink) {
        return tacho_fail(err, TACHO_RETRY, "no memory");
    }
    sink->host = host;
    sink->reported_ns = host->mono_ns();
    result = host->store_open(host, &store, &sink->store, err);
    if (result != TACHO_OK) {
        free(sink);
        return result;
    }
    *out_self = sink;
    return TACHO_OK;
}

static void close_sink(void *self)
{
    struct msgpack *sink = self;
    sink->host->store_close(sink->store);
    free(sink);
}

static void report(struct msgpack *sink, const struct tacho_store_stats *stats)
{
    const struct tacho_host *host = sink->host;
    struct tacho_batch *batch = host->batch_new(host);
    if (!batch) {
        return;
    }
    host->entity(batch, "log", host->setting(host, TACHO_SETTING_INSTANCE), -1, 0);
    host->i64(batch, M_BYTES, (int64_t)stats->bytes);
    host->i64(batch, M_SEGMENTS, stats->segments);
    host->i64(batch, M_FRAMES, (int64_t)stats->frames);
    host->i64(batch, M_VALUES, (int64_t)stats->values);
    host->i64(batch, M_DROPPED_FRAMES, (int64_t)stats->dropped_frames);
    host->i64(batch, M_DROPPED_SEGMENTS, (int64_t)stats->dropped_segments);
    host->i64(batch, M_IO_ERRORS, (int64_t)stats->io_errors);
    host->i64(batch, M_DEGRADED, stats->degraded);
    host->emit(host, batch);
}

/* Emits the metrics now and then, and at once when writing begins or ceases to fail. */
static void report_if_due(struct msgpack *sink)
{
    struct tacho_store_stats stats = {.struct_size = (uint32_t)sizeof stats};
    sink->host->store_stats(sink->store, &stats);
    int64_t now = sink->host->mono_ns();
    if (now - sink->reported_ns >= REPORT_NS || stats.degraded != sink->degraded) {
        sink->reported_ns = now;
        sink->degraded = stats.degraded;
        report(sink, &stats);
    }
}

static int consume(void *self, const struct tacho_batch *batch, struct tacho_err *err)
{
    struct msgpack *sink = self;
    return sink->host->store_append(sink->store, batch, err);
}

static int flush(void *self, struct tacho_err *err)
{
    struct msgpack *sink = self;
    int result = sink->host->store_flush(sink->store, err);
    report_if_due(sink);
    return result;
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "msgpack",
    .version = "0.1.0",
    .summary = "Writes batches to a log on disk, in checksummed MessagePack frames",
    TACHO_OPTIONS(option_table, struct msgpack_options),
    TACHO_METRICS(metric_table),
    .open = open_sink,
    .close = close_sink,
    .consume = consume,
    .flush = flush,
};
