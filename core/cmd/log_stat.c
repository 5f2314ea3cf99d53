/* SPDX-License-Identifier: MIT */
/* tacho log stat: what a log holds, from which sources, and what it lost. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/log.h"
#include "core/units.h"

static const char help[] =
    "usage: tacho log stat [--json] PATH\n\n"
    "Reads a log and prints its totals, the batches of each source with the numbers that are\n"
    "missing between them, the gaps that it announces, and what is damaged.\n";

struct source {
    char *host, *name;
    uint64_t session, batches, values, first_seq, last_seq, missing;
    int64_t first_ns, last_ns;
};

struct totals {
    struct source *sources;
    size_t source_count;
    struct segment_gap *gaps;
    size_t gap_count;
    uint64_t frames, values, damaged_bytes, damaged_places, torn_bytes, unreadable, sealed;
    int64_t first_ns, last_ns;
};

static struct source *find_source(struct totals *totals, const struct tacho_batch *batch)
{
    for (size_t i = 0; i < totals->source_count; i++) {
        struct source *source = &totals->sources[i];
        if (source->session == batch->session && strcmp(source->name, batch->source) == 0 &&
            strcmp(source->host, batch->host) == 0) {
            return source;
        }
    }
    struct source *more = realloc(totals->sources, (totals->source_count + 1) * sizeof *more);
    if (!more) {
        return NULL;
    }
    totals->sources = more;
    struct source *source = &totals->sources[totals->source_count++];
    *source = (struct source){.host = strdup(batch->host),
                              .name = strdup(batch->source),
                              .session = batch->session,
                              .first_seq = batch->seq,
                              .last_seq = batch->seq,
                              .first_ns = batch->wall_ns};
    return source;
}

static bool count_batch(void *context, const struct tacho_batch *batch)
{
    struct source *source = find_source(context, batch);
    if (!source) {
        return false;
    }
    if (batch->seq > source->last_seq + 1) {
        source->missing += batch->seq - source->last_seq - 1;
    }
    source->last_seq = batch->seq;
    source->last_ns = batch->wall_ns;
    source->batches++;
    source->values += batch->value_count;
    return true;
}

static void note_gap(void *context, const struct frame *frame, uint64_t position)
{
    struct totals *totals = context;
    (void)position;
    if (frame->kind != FRAME_GAP) {
        return;
    }
    struct segment_gap *more = realloc(totals->gaps, (totals->gap_count + 1) * sizeof *more);
    if (more) {
        totals->gaps = more;
        totals->gap_count += segment_read_gap(frame, &more[totals->gap_count]) == TACHO_OK;
    }
}

static void add_summary(struct totals *totals, const struct log_summary *summary)
{
    const struct segment_seal *seal = &summary->tally.seal;
    totals->frames += seal->frames;
    totals->values += seal->values;
    totals->damaged_bytes += summary->damaged_bytes;
    totals->damaged_places += summary->damaged_places;
    totals->torn_bytes += summary->torn_bytes;
    totals->unreadable += summary->tally.unreadable;
    totals->sealed += summary->tally.sealed;
    if (seal->frames) {
        if (!totals->first_ns || seal->first_ns < totals->first_ns) {
            totals->first_ns = seal->first_ns;
        }
        totals->last_ns = seal->last_ns > totals->last_ns ? seal->last_ns : totals->last_ns;
    }
}

static void print_sources(const struct totals *totals)
{
    char from[32], to[32];
    printf("\n%-16s %-16s %8s %9s %11s %21s %8s  %-20s  %s\n", "HOST", "SOURCE", "SESSION",
           "BATCHES", "VALUES", "NUMBERS", "MISSING", "FROM", "TO");
    for (size_t i = 0; i < totals->source_count; i++) {
        const struct source *source = &totals->sources[i];
        char numbers[48];
        snprintf(numbers, sizeof numbers, "%" PRIu64 "-%" PRIu64, source->first_seq,
                 source->last_seq);
        printf("%-16s %-16s %8" PRIu64 " %9" PRIu64 " %11" PRIu64 " %21s %8" PRIu64 "  %-20s  %s\n",
               source->host, source->name, source->session, source->batches, source->values,
               numbers, source->missing, log_time(source->first_ns, from, sizeof from),
               log_time(source->last_ns, to, sizeof to));
    }
}

static void print_text(const struct totals *totals, const struct log_files *files)
{
    char size[32], from[32], to[32];
    printf("segments   %zu (%" PRIu64 " sealed)%s\n", files->count, totals->sealed,
           files->being_written ? ", being written" : "");
    printf("size       %s\n", units_format_size((int64_t)files->bytes, size, sizeof size));
    printf("time       %s to %s\n", log_time(totals->first_ns, from, sizeof from),
           log_time(totals->last_ns, to, sizeof to));
    printf("batches    %" PRIu64 "\n", totals->frames);
    printf("values     %" PRIu64 ", %.2f bytes each\n", totals->values,
           totals->values ? (double)files->bytes / (double)totals->values : 0);
    printf("damage     %" PRIu64 " places, %" PRIu64 " bytes; %" PRIu64
           " unreadable batches; %" PRIu64 " bytes of a torn end\n",
           totals->damaged_places, totals->damaged_bytes, totals->unreadable, totals->torn_bytes);
    printf("gaps       %zu\n", totals->gap_count);
    for (size_t i = 0; i < totals->gap_count; i++) {
        const struct segment_gap *gap = &totals->gaps[i];
        printf("           frames %" PRIu64 " to %" PRIu64 " dropped at %s: %s\n", gap->first_seq,
               gap->last_seq, log_time(gap->wall_ns, from, sizeof from), gap->reason);
    }
    print_sources(totals);
}

static json_t *source_json(const struct source *source)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "host", source->host,
                     "source", source->name, "session", (json_int_t)source->session, "batches",
                     (json_int_t)source->batches, "values", (json_int_t)source->values, "first_seq",
                     (json_int_t)source->first_seq, "last_seq", (json_int_t)source->last_seq,
                     "missing", (json_int_t)source->missing, "first_ns",
                     (json_int_t)source->first_ns, "last_ns", (json_int_t)source->last_ns);
}

static void print_json(const struct totals *totals, const struct log_files *files)
{
    json_t *sources = json_array(), *gaps = json_array();
    for (size_t i = 0; i < totals->source_count; i++) {
        json_array_append_new(sources, source_json(&totals->sources[i]));
    }
    for (size_t i = 0; i < totals->gap_count; i++) {
        const struct segment_gap *gap = &totals->gaps[i];
        json_array_append_new(
            gaps, json_pack("{s:I, s:I, s:s, s:s, s:I}", "first_seq", (json_int_t)gap->first_seq,
                            "last_seq", (json_int_t)gap->last_seq, "reason", gap->reason, "stream",
                            gap->stream, "time_ns", (json_int_t)gap->wall_ns));
    }
    log_print_json(json_pack(
        "{s:I, s:I, s:b, s:I, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "segments",
        (json_int_t)files->count, "sealed", (json_int_t)totals->sealed, "being_written",
        (int)files->being_written, "bytes", (json_int_t)files->bytes, "batches",
        (json_int_t)totals->frames, "values", (json_int_t)totals->values, "bytes_per_value",
        totals->values ? (double)files->bytes / (double)totals->values : 0.0, "first_ns",
        (json_int_t)totals->first_ns, "last_ns", (json_int_t)totals->last_ns, "damaged_places",
        (json_int_t)totals->damaged_places, "damaged_bytes", (json_int_t)totals->damaged_bytes,
        "torn_bytes", (json_int_t)totals->torn_bytes, "unreadable", (json_int_t)totals->unreadable,
        "gaps", gaps, "sources", sources));
}

static void free_totals(struct totals *totals)
{
    for (size_t i = 0; i < totals->source_count; i++) {
        free(totals->sources[i].host);
        free(totals->sources[i].name);
    }
    free(totals->sources);
    free(totals->gaps);
}

int log_stat(int argc, char **argv)
{
    struct log_arguments arguments;
    struct log_files files;
    struct totals totals = {0};
    int status = log_arguments(argc, argv, LOG_TAKES_JSON, help, &arguments);
    if (status != -1) {
        return status;
    }
    if (!log_files_init(&files, arguments.path, argv[0])) {
        return CMD_NONE;
    }
    for (size_t i = 0; i < files.count; i++) {
        struct log_summary summary;
        if (log_summarise(&files.items[i], argv[0], note_gap, &totals, &summary)) {
            add_summary(&totals, &summary);
        }
    }
    status = log_each_batch(&arguments, argv[0], count_batch, &totals);
    if (status == CMD_OK && arguments.json) {
        print_json(&totals, &files);
    } else if (status == CMD_OK) {
        print_text(&totals, &files);
    }
    free_totals(&totals);
    log_files_fini(&files);
    return status;
}
