/* SPDX-License-Identifier: MIT */
/* tacho log cat and export: the batches of a log in other forms, all of them or those of a time, a
 * source, a metric. OpenMetrics is in log_openmetrics.c. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/log.h"
#include "core/encode.h"
#include "core/encode_number.h"
#include "core/metric.h"
#include "core/store.h"

#define FOLLOW_NS (200 * NS_PER_MS)

static const char cat_help[] =
    "usage: tacho log cat [--from TIME] [--to TIME] [--source GLOB] [--metric GLOB] [-f] PATH\n\n"
    "Prints each batch as one line of JSON. With -f it goes on when the log grows. TIME is\n"
    "2026-01-31T12:00:00Z or @SECONDS; --from is included, --to is not.\n";

static const char export_help[] =
    "usage: tacho log export [--format json|csv|openmetrics] [--from TIME] [--to TIME]\n"
    "                        [--source GLOB] [--metric GLOB] [-o FILE] PATH\n\n"
    "  json         one object a line for each batch, as 'tacho log cat' (the default)\n"
    "  csv          one line for each value: time, fleet, host, source, entity, metric, value\n"
    "  openmetrics  each sample with its time, for 'promtool tsdb create-blocks-from "
    "openmetrics';\n"
    "               samples of one metric stand together, so the log is read once for each\n\n"
    "TIME is 2026-01-31T12:00:00Z or @SECONDS; --from is included, --to is not.\n";

struct writer {
    const struct log_arguments *arguments;
    FILE *out;
    struct batch_pool *pool;
    struct buf line;
};

/* ---- reading --------------------------------------------------------------------------------- */

bool log_wants(const struct log_arguments *arguments, uint32_t metric_id)
{
    return !arguments->metric ||
           fnmatch(arguments->metric, metric_get(metric_id)->desc.name, 0) == 0;
}

static bool is_wanted(const struct log_arguments *arguments, const struct tacho_batch *batch)
{
    return batch->wall_ns >= arguments->from_ns && batch->wall_ns < arguments->to_ns &&
           (!arguments->source || fnmatch(arguments->source, batch->source, 0) == 0);
}

/* Hands on what there is until the end; false when visit wants no more. */
static bool read_on(struct tacho_cursor *cursor, const struct log_arguments *arguments,
                    struct log_progress *progress, log_batch_visit *visit, void *context,
                    struct tacho_err *err)
{
    struct tacho_batch *batch;
    struct cursor_stats stats;
    while (cursor_next(cursor, &batch, err) == TACHO_OK) {
        batch_seal(batch, batch->seq);
        bool more = !is_wanted(arguments, batch) || visit(context, batch);
        batch_unref(batch);
        if (!more) {
            return false;
        }
        if (progress->on) {
            cursor_stats(cursor, &stats);
            log_progress_show(progress, stats.bytes);
        }
    }
    return err->code == TACHO_OK;
}

static int read_all(const struct log_arguments *arguments, const char *command,
                    struct tacho_cursor *cursor, log_batch_visit *visit, void *context)
{
    struct tacho_err err = {0};
    struct log_progress progress = {0};
    struct log_files files;
    if (!arguments->follow && log_files_init(&files, arguments->path, command)) {
        log_progress_init(&progress, files.bytes);
        log_files_fini(&files);
    }
    bool more = read_on(cursor, arguments, &progress, visit, context, &err);
    while (more && arguments->follow) {
        clock_sleep_until(clock_mono_ns() + FOLLOW_NS);
        more = read_on(cursor, arguments, &progress, visit, context, &err) && fflush(stdout) == 0;
    }
    log_progress_clear(&progress);
    struct cursor_stats stats;
    cursor_stats(cursor, &stats);
    if (stats.damaged_places || stats.unreadable) {
        fprintf(stderr,
                "tacho log %s: %" PRIu64 " damaged places and %" PRIu64
                " unreadable frames were skipped; see 'tacho log verify'\n",
                command, stats.damaged_places, stats.unreadable);
    }
    if (err.code) {
        fprintf(stderr, "tacho log %s: %s\n", command, err.text);
        return CMD_NO;
    }
    return CMD_OK;
}

int log_each_batch(const struct log_arguments *arguments, const char *command,
                   log_batch_visit *visit, void *context)
{
    struct tacho_err err = {0};
    struct tacho_cursor *cursor = NULL;
    struct batch_pool *pool = batch_pool_new("", "", "", 0, NULL);
    int result = pool ? cursor_open(arguments->path, pool, &cursor, &err)
                      : tacho_fail(&err, TACHO_RETRY, "no memory");
    if (result == TACHO_OK && arguments->from_ns != INT64_MIN) {
        result = cursor_seek(cursor, arguments->from_ns, &err);
    }
    int status = CMD_NONE;
    if (result == TACHO_OK) {
        status = read_all(arguments, command, cursor, visit, context);
    } else {
        fprintf(stderr, "tacho log %s: %s\n", command, err.text);
    }
    cursor_close(cursor);
    batch_pool_free(pool);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static uint32_t count_wanted(const struct log_arguments *arguments,
                             const struct tacho_entity *entity)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < entity->value_count; i++) {
        count += log_wants(arguments, entity->values[i].metric);
    }
    return count;
}

static void copy_entity(const struct log_arguments *arguments, const struct tacho_entity *entity,
                        int32_t parent, struct tacho_batch *to)
{
    batch_entity(to, entity->kind, entity->key, parent, entity->flags);
    for (uint32_t i = 0; i < entity->label_count; i++) {
        batch_label(to, entity->labels[i].name, entity->labels[i].value);
    }
    for (uint32_t i = 0; i < entity->value_count; i++) {
        if (log_wants(arguments, entity->values[i].metric)) {
            batch_value(to, &entity->values[i]);
        }
    }
}

/* The part of a batch that is asked for, with the parents of its entities; NULL when nothing is.
 * Texts are borrowed from the whole one. */
static struct tacho_batch *part_of(struct writer *writer, const struct tacho_batch *batch)
{
    int32_t *place = calloc(batch->entity_count + 1, sizeof *place); /* 1: kept */
    struct tacho_batch *part = place ? batch_new(writer->pool) : NULL;
    uint32_t wanted = 0;
    for (uint32_t i = batch->entity_count; part && i-- > 0;) {
        const struct tacho_entity *entity = &batch->entities[i];
        uint32_t values = count_wanted(writer->arguments, entity);
        wanted += values;
        place[i] |= values > 0;
        if (place[i] && entity->parent >= 0) {
            place[entity->parent] = 1;
        }
    }
    for (uint32_t i = 0, next = 0; part && i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        if (place[i]) {
            copy_entity(writer->arguments, entity, entity->parent >= 0 ? place[entity->parent] : -1,
                        part);
            place[i] = (int32_t)next++;
        }
    }
    free(place);
    if (part && wanted == 0) {
        batch_discard(part);
        part = NULL;
    }
    if (part) {
        batch_origin(part, batch->fleet, batch->host, batch->source, batch->session, batch->seq);
        batch_stamp(part, batch->wall_ns, batch->duration_ns);
        batch_mark(part, batch->flags);
        batch_seal(part, batch->seq);
    }
    return part;
}

static bool write_line(struct writer *writer)
{
    buf_putc(&writer->line, '\n');
    bool written = !writer->line.failed && fwrite(writer->line.data, 1, writer->line.length,
                                                  writer->out) == writer->line.length;
    buf_reset(&writer->line);
    return written;
}

static bool write_json(void *context, const struct tacho_batch *batch)
{
    struct writer *writer = context;
    if (!writer->arguments->metric) {
        encode_json(batch, &writer->line);
        return write_line(writer);
    }
    struct tacho_batch *part = part_of(writer, batch);
    if (!part) {
        return true;
    }
    encode_json(part, &writer->line);
    batch_unref(part);
    return write_line(writer);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_cell(struct buf *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        buf_puts(out, text);
    } else {
        buf_putc(out, '"');
        for (; *text; text++) {
            buf_puts(out, *text == '"' ? "\"" : "");
            buf_putc(out, *text);
        }
        buf_putc(out, '"');
    }
    buf_putc(out, ',');
}

/* The value and, when there is none, why. A summary is its mean. */
static void put_value(struct buf *out, const struct tacho_value *value)
{
    switch (value->type) {
    case TACHO_VALUE_F64: encode_f64(out, value->as.f64); break;
    case TACHO_VALUE_I64: encode_i64(out, value->as.i64); break;
    case TACHO_VALUE_FLAGS: encode_u64(out, value->as.flags); break;
    case TACHO_VALUE_TEXT: put_cell(out, value->as.text); return;
    case TACHO_VALUE_SUMMARY:
        if (value->as.summary->count) {
            encode_f64(out, value->as.summary->mean);
        }
        break;
    default:
        buf_putc(out, ',');
        buf_puts(out, batch_reason_name(value->reason));
        return;
    }
    buf_putc(out, ',');
}

static bool write_csv(void *context, const struct tacho_batch *batch)
{
    struct writer *writer = context;
    char when[CLOCK_TEXT];
    clock_format(batch->wall_ns, when);
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        for (uint32_t j = 0; j < entity->value_count; j++) {
            const struct tacho_metric *metric = &metric_get(entity->values[j].metric)->desc;
            if (!log_wants(writer->arguments, entity->values[j].metric)) {
                continue;
            }
            const char *const cells[] = {when,         batch->fleet, batch->host,  batch->source,
                                         entity->kind, entity->key,  metric->name, metric->unit};
            for (size_t k = 0; k < sizeof cells / sizeof cells[0]; k++) {
                put_cell(&writer->line, cells[k]);
            }
            put_value(&writer->line, &entity->values[j]);
            if (!write_line(writer)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static int write_as(const struct log_arguments *arguments, const char *command, FILE *out)
{
    struct writer writer = {.arguments = arguments, .out = out};
    buf_init(&writer.line, 64u << 20);
    writer.pool = batch_pool_new("", "", "", 0, NULL);
    int status = CMD_NO;
    if (arguments->format == LOG_OPENMETRICS) {
        status = log_export_openmetrics(arguments, command, out);
    } else if (arguments->format == LOG_CSV) {
        fputs("time,fleet,host,source,kind,key,metric,unit,value,absent\n", out);
        status = log_each_batch(arguments, command, write_csv, &writer);
    } else if (writer.pool) {
        status = log_each_batch(arguments, command, write_json, &writer);
    }
    buf_fini(&writer.line);
    batch_pool_free(writer.pool);
    return status;
}

static int export_to(const struct log_arguments *arguments, const char *command)
{
    FILE *out = stdout;
    if (arguments->output) {
        out = fopen(arguments->output, "we");
        if (!out) {
            fprintf(stderr, "tacho log %s: opening %s: %s\n", command, arguments->output,
                    strerror(errno));
            return CMD_NO;
        }
    }
    int status = write_as(arguments, command, out);
    bool failed = ferror(out) || fflush(out) != 0;
    failed = (out != stdout && fclose(out) != 0) || failed;
    if (failed && errno != EPIPE) {
        fprintf(stderr, "tacho log %s: writing %s: %s\n", command,
                arguments->output ? arguments->output : "the output", strerror(errno));
        status = CMD_NO;
    }
    return status;
}

int log_cat(int argc, char **argv)
{
    struct log_arguments arguments;
    int status =
        log_arguments(argc, argv, LOG_TAKES_FILTER | LOG_TAKES_FOLLOW, cat_help, &arguments);
    return status != -1 ? status : export_to(&arguments, argv[0]);
}

int log_export(int argc, char **argv)
{
    struct log_arguments arguments;
    int status = log_arguments(argc, argv, LOG_TAKES_FILTER | LOG_TAKES_OUTPUT | LOG_TAKES_FORMAT,
                               export_help, &arguments);
    return status != -1 ? status : export_to(&arguments, argv[0]);
}
