/* SPDX-License-Identifier: MIT */
/* tacho log verify: reads every frame and says what is wrong. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/cmd/cmd.h"
#include "core/cmd/log.h"

static const char help[] =
    "usage: tacho log verify [--json] PATH\n\n"
    "Checks the checksum of every frame, whether every batch can be decoded, whether every\n"
    "segment holds what its seal says, and whether all frame numbers between the first and the\n"
    "last are there or announced as a gap. Exit status 0 when all is well, 1 when not.\n";

struct check {
    json_t *problems;
    const char *name;  /* of the segment being read */
    uint64_t next_seq; /* 0: no batch seen yet */
    uint64_t frames;
    struct log_progress progress;
    uint64_t done_bytes;
};

static void problem(struct check *check, const char *format, ...) TACHO_PRINTF(2, 3);

static void problem(struct check *check, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(check->problems,
                          json_pack("{s:s, s:s}", "segment", check->name, "problem", text));
}

static void follow_gap(struct check *check, const struct frame *frame)
{
    struct segment_gap gap;
    if (segment_read_gap(frame, &gap) != TACHO_OK) {
        problem(check, "the gap before frame %" PRIu64 " cannot be read", frame->seq);
    } else if (check->next_seq && gap.first_seq <= check->next_seq &&
               gap.last_seq >= check->next_seq) {
        check->next_seq = gap.last_seq + 1;
    }
}

static void follow(void *context, const struct frame *frame, uint64_t position)
{
    struct check *check = context;
    log_progress_show(&check->progress, check->done_bytes + position);
    if (frame->kind == FRAME_GAP) {
        follow_gap(check, frame);
    }
    if (frame->kind != FRAME_BATCH) {
        return;
    }
    check->frames++;
    if (check->next_seq && frame->seq > check->next_seq) {
        problem(check, "frames %" PRIu64 " to %" PRIu64 " are missing, and no gap tells of them",
                check->next_seq, frame->seq - 1);
    } else if (check->next_seq && frame->seq < check->next_seq) {
        problem(check, "frame %" PRIu64 " comes where %" PRIu64 " was expected", frame->seq,
                check->next_seq);
    }
    check->next_seq = frame->seq + 1;
}

static void check_file(struct check *check, const struct log_file *file, bool may_grow)
{
    struct log_summary summary;
    check->name = file->name;
    if (!log_summarise(file, "verify", follow, check, &summary)) {
        problem(check, "it cannot be read");
        return;
    }
    if (summary.damaged_places) {
        problem(check, "%" PRIu64 " damaged places, %" PRIu64 " bytes skipped",
                summary.damaged_places, summary.damaged_bytes);
    }
    if (summary.tally.unreadable) {
        problem(check, "%" PRIu64 " whole batches cannot be decoded", summary.tally.unreadable);
    }
    if (summary.torn_bytes && !may_grow) {
        problem(check, "ends within a frame, %" PRIu64 " bytes behind the last whole one",
                summary.torn_bytes);
    }
    if (!summary.has_header) {
        problem(check, "it has no header");
    } else if (summary.header.version > SEGMENT_VERSION) {
        problem(check, "it is of format %" PRIu64 ", newer than this program",
                summary.header.version);
    }
    uint64_t found = summary.tally.seal.frames + summary.tally.unreadable;
    if (summary.has_seal && summary.seal.frames != found) {
        problem(check, "its seal speaks of %" PRIu64 " batches, %" PRIu64 " are there",
                summary.seal.frames, found);
    }
    check->done_bytes += file->bytes;
}

static void print_text(const struct check *check, size_t segments)
{
    size_t index;
    json_t *item;
    json_array_foreach(check->problems, index, item)
    {
        printf("%s: %s\n", json_string_value(json_object_get(item, "segment")),
               json_string_value(json_object_get(item, "problem")));
    }
    printf("%zu segments, %" PRIu64 " batches, %zu problems\n", segments, check->frames,
           json_array_size(check->problems));
}

int log_verify(int argc, char **argv)
{
    struct log_arguments arguments;
    struct log_files files;
    int status = log_arguments(argc, argv, LOG_TAKES_JSON, help, &arguments);
    if (status != -1) {
        return status;
    }
    if (!log_files_init(&files, arguments.path, argv[0])) {
        return CMD_NONE;
    }
    struct check check = {.problems = json_array()};
    log_progress_init(&check.progress, files.bytes);
    for (size_t i = 0; i < files.count; i++) {
        check_file(&check, &files.items[i], files.being_written && i + 1 == files.count);
    }
    log_progress_clear(&check.progress);
    status = json_array_size(check.problems) ? CMD_NO : CMD_OK;
    if (arguments.json) {
        log_print_json(json_pack("{s:b, s:I, s:I, s:O}", "ok", status == CMD_OK, "segments",
                                 (json_int_t)files.count, "batches", (json_int_t)check.frames,
                                 "problems", check.problems));
    } else {
        print_text(&check, files.count);
    }
    json_decref(check.problems);
    log_files_fini(&files);
    return status;
}
