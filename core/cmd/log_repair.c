/* SPDX-License-Identifier: MIT */
/*
 * tacho log repair: writes each segment anew with every whole frame of it, a gap for what is
 * missing between them, and a seal. The damaged original is never changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/log.h"
#include "core/store_scan.h"

static const char help[] =
    "usage: tacho log repair -o FOLDER PATH\n"
    "       tacho log repair --in-place PATH\n\n"
    "Keeps every whole frame of a damaged log, tells by a gap what is missing between them, and\n"
    "seals each segment. With -o the repaired copy goes to a new folder; with --in-place the\n"
    "damaged segments are replaced, and kept beside as NAME.damaged. A log in use is refused.\n";

struct repair {
    struct buf out;
    uint64_t next_seq; /* 0: no batch seen yet */
    uint64_t kept, lost, damaged_bytes, segments;
    struct segment_seal seal;
    bool sealed;
};

/* Announces the numbers before this frame that are neither there nor told of. */
static void put_gap(struct repair *repair, uint64_t seq)
{
    if (!repair->next_seq || seq <= repair->next_seq) {
        return;
    }
    struct segment_gap gap = {.first_seq = repair->next_seq,
                              .last_seq = seq - 1,
                              .wall_ns = clock_wall_ns(),
                              .stream = "repair",
                              .reason = "damaged"};
    repair->lost += seq - repair->next_seq;
    segment_put_gap(&repair->out, seq, &gap);
}

/* Blocks go through as they are: what is inside has the numbers from seq on. */
static void keep_frame(struct repair *repair, const struct frame *frame, uint64_t last_seq)
{
    struct segment_gap gap;
    if (frame->kind == FRAME_SEAL) {
        return; /* made anew */
    }
    if (frame->kind == FRAME_BATCH || frame->kind == FRAME_BLOCK) {
        put_gap(repair, frame->seq);
        repair->next_seq = last_seq + 1;
    } else if (frame->kind == FRAME_GAP && segment_read_gap(frame, &gap) == TACHO_OK &&
               repair->next_seq && gap.first_seq <= repair->next_seq &&
               gap.last_seq >= repair->next_seq) {
        repair->next_seq = gap.last_seq + 1;
    }
    frame_put(&repair->out, frame->kind, frame->seq, frame->payload, frame->length);
    repair->kept++;
}

/* The last number inside a block. */
static uint64_t last_in_block(const struct frame *frame)
{
    struct buf whole;
    struct walk walk;
    struct frame inner;
    uint64_t last = frame->seq;
    buf_init(&whole, WALK_BLOCK_MAX);
    frame_put(&whole, frame->kind, frame->seq, frame->payload, frame->length);
    walk_init(&walk, -1);
    scan_init_memory(&walk.file, whole.data, whole.length);
    while (walk_next(&walk, &inner, NULL) == TACHO_OK) {
        last = inner.kind == FRAME_BATCH ? inner.seq : last;
    }
    walk_fini(&walk);
    buf_fini(&whole);
    return last;
}

static bool write_repaired(struct repair *repair, const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const char *data = repair->out.data;
    size_t left = repair->out.length;
    while (fd >= 0 && left) {
        ssize_t wrote = write(fd, data, left);
        if (wrote <= 0) {
            break;
        }
        data += wrote;
        left -= (size_t)wrote;
    }
    bool written = fd >= 0 && left == 0 && !repair->out.failed && fsync(fd) == 0;
    if (!written) {
        fprintf(stderr, "tacho log repair: writing %s: %s\n", path, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return written;
}

/* Fills repair->out with the repaired segment. */
static bool repair_file(struct repair *repair, const struct log_file *file)
{
    struct tacho_err err = {0};
    struct scan scan;
    struct frame frame;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "tacho log repair: opening %s: %s\n", file->path, strerror(errno));
        return false;
    }
    buf_reset(&repair->out);
    scan_init(&scan, fd);
    int result = scan_next(&scan, &frame, &err);
    for (; result == TACHO_OK; result = scan_next(&scan, &frame, &err)) {
        keep_frame(repair, &frame, frame.kind == FRAME_BLOCK ? last_in_block(&frame) : frame.seq);
    }
    scan_abandon(&scan);
    repair->damaged_bytes += scan.damaged_bytes;
    scan_fini(&scan);
    close(fd);
    if (result == TACHO_RETRY) {
        fprintf(stderr, "tacho log repair: %s: %s\n", file->path, err.text);
    }
    return result == TACHO_NO_DATA;
}

/* Whether a segment is as it should be, and its seal. */
static bool is_whole(const struct log_file *file, struct segment_seal *out_seal)
{
    struct log_summary summary;
    if (!log_summarise(file, "repair", NULL, NULL, &summary)) {
        return false;
    }
    *out_seal = summary.tally.seal;
    return summary.tally.sealed && summary.damaged_places == 0 && summary.torn_bytes == 0 &&
           summary.seal.frames == summary.tally.seal.frames;
}

/* Makes FILE whole at `target`; in place the original is first kept beside. */
static bool repair_segment(struct repair *repair, const struct log_file *file, const char *folder)
{
    char target[4096], kept[4096];
    struct segment_seal seal = {0};
    bool whole = is_whole(file, &seal);
    if (!repair_file(repair, file)) {
        return false;
    }
    if (whole && !folder) {
        return true;
    }
    segment_put_seal(&repair->out, seal.last_seq, &seal);
    repair->segments += !whole;
    if (folder) {
        snprintf(target, sizeof target, "%s/%s", folder, file->name);
        return write_repaired(repair, target);
    }
    snprintf(target, sizeof target, "%s.tmp", file->path);
    snprintf(kept, sizeof kept, "%s.damaged", file->path);
    unlink(target);
    if (!write_repaired(repair, target)) {
        unlink(target);
        return false;
    }
    if ((link(file->path, kept) != 0 && errno != EEXIST) || rename(target, file->path) != 0) {
        fprintf(stderr, "tacho log repair: replacing %s: %s\n", file->path, strerror(errno));
        unlink(target);
        return false;
    }
    return true;
}

static int repair_all(const struct log_arguments *arguments, const struct log_files *files)
{
    if (!arguments->in_place && mkdir(arguments->output, 0700) != 0) {
        fprintf(stderr, "tacho log repair: making the folder %s: %s\n", arguments->output,
                strerror(errno));
        return CMD_NO;
    }
    struct repair repair = {0};
    buf_init(&repair.out, SIZE_MAX / 4);
    int status = CMD_OK;
    for (size_t i = 0; i < files->count; i++) {
        if (!repair_segment(&repair, &files->items[i],
                            arguments->in_place ? NULL : arguments->output)) {
            status = CMD_NO;
        }
    }
    buf_fini(&repair.out);
    printf("%zu segments, %" PRIu64 " of them repaired; %" PRIu64 " frames kept, %" PRIu64
           " lost in %" PRIu64 " damaged bytes\n",
           files->count, repair.segments, repair.kept, repair.lost, repair.damaged_bytes);
    return status;
}

int log_repair(int argc, char **argv)
{
    struct log_arguments arguments;
    struct log_files files;
    int status = log_arguments(argc, argv, LOG_TAKES_OUTPUT | LOG_TAKES_IN_PLACE, help, &arguments);
    if (status != -1) {
        return status;
    }
    if (arguments.in_place == (arguments.output != NULL)) {
        fputs("tacho log repair: one of -o FOLDER and --in-place is needed\n", stderr);
        return CMD_USAGE;
    }
    if (!log_files_init(&files, arguments.path, argv[0])) {
        return CMD_NONE;
    }
    if (files.being_written) {
        fprintf(stderr, "tacho log repair: %s is being written; stop its daemon first\n",
                arguments.path);
        status = CMD_LATER;
    } else {
        status = repair_all(&arguments, &files);
    }
    log_files_fini(&files);
    return status;
}
