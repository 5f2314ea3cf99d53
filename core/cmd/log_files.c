/* SPDX-License-Identifier: MIT */
/* Which files a log has and what is in each; the bar, times and JSON that are printed. See log.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cmd/log.h"
#include "core/err.h"
#include "core/units.h"

/* ---- files ----------------------------------------------------------------------------------- */

static bool add_file(struct log_files *files, const char *folder, const char *name, uint64_t bytes)
{
    struct log_file *more = realloc(files->items, (files->count + 1) * sizeof *more);
    if (!more) {
        return false;
    }
    files->items = more;
    struct log_file *file = &files->items[files->count];
    if (asprintf(&file->path, "%s%s%s", folder, *folder ? "/" : "", name) < 0) {
        return false;
    }
    const char *slash = strrchr(file->path, '/');
    file->name = slash ? slash + 1 : file->path;
    file->bytes = bytes;
    files->count++;
    files->bytes += bytes;
    return true;
}

static bool add_folder(struct log_files *files, int fd, const char *path, struct tacho_err *err)
{
    struct segment *list = NULL;
    size_t count = 0;
    bool added = segment_list(fd, &list, &count, err) == TACHO_OK;
    for (size_t i = 0; added && i < count; i++) {
        added = add_file(files, path, list[i].name, list[i].bytes);
    }
    free(list);
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) {
        files->being_written = errno == EWOULDBLOCK;
    }
    return added;
}

bool log_files_init(struct log_files *files, const char *path, const char *command)
{
    struct tacho_err err = {0};
    struct stat status;
    *files = (struct log_files){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ready = fd >= 0 && fstat(fd, &status) == 0;
    if (!ready) {
        err_sys(&err, TACHO_RETRY, "opening %s", path);
    } else if (S_ISDIR(status.st_mode)) {
        ready = add_folder(files, fd, path, &err);
    } else {
        ready = add_file(files, "", path, (uint64_t)status.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!ready) {
        fprintf(stderr, "tacho log %s: %s\n", command, err.code ? err.text : "no memory");
        log_files_fini(files);
    }
    return ready;
}

void log_files_fini(struct log_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
    }
    free(files->items);
    *files = (struct log_files){0};
}

/* ---- what is in one -------------------------------------------------------------------------- */

static void note_frame(struct log_summary *summary, const struct frame *frame)
{
    if (frame->kind == FRAME_HEADER && !summary->has_header) {
        summary->has_header = segment_read_header(frame, &summary->header) == TACHO_OK;
    } else if (frame->kind == FRAME_SEAL) {
        summary->has_seal = segment_read_seal(frame, &summary->seal) == TACHO_OK;
    }
    tally_frame(&summary->tally, frame);
}

bool log_summarise(const struct log_file *file, const char *command, log_frame_visit *visit,
                   void *context, struct log_summary *out)
{
    struct tacho_err err = {0};
    struct walk walk;
    struct frame frame;
    *out = (struct log_summary){0};
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !tally_init(&out->tally)) {
        err_sys(&err, TACHO_RETRY, "opening %s", file->path);
        fprintf(stderr, "tacho log %s: %s\n", command, err.text);
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    walk_init(&walk, fd);
    int result = walk_next(&walk, &frame, &err);
    for (; result == TACHO_OK; result = walk_next(&walk, &frame, &err)) {
        note_frame(out, &frame);
        if (visit) {
            visit(context, &frame, scan_position(&walk.file));
        }
    }
    out->damaged_bytes = walk_damaged_bytes(&walk);
    out->damaged_places = walk_damaged_places(&walk);
    out->torn_bytes = walk.file.torn_bytes;
    out->blocks = walk.blocks;
    walk_fini(&walk);
    tally_fini(&out->tally);
    close(fd);
    if (result == TACHO_RETRY) {
        fprintf(stderr, "tacho log %s: %s: %s\n", command, file->path, err.text);
    }
    return result == TACHO_NO_DATA;
}

/* ---- printing -------------------------------------------------------------------------------- */

enum { BAR = 30, SHOW_FROM = 16 << 20 };
#define SHOW_EVERY_NS (100 * NS_PER_MS)

void log_progress_init(struct log_progress *progress, uint64_t total)
{
    *progress =
        (struct log_progress){.total = total, .on = total >= SHOW_FROM && isatty(STDERR_FILENO)};
}

void log_progress_show(struct log_progress *progress, uint64_t done)
{
    int64_t now = progress->on ? clock_mono_ns() : 0;
    if (!progress->on || now - progress->shown_ns < SHOW_EVERY_NS) {
        return;
    }
    char bar[BAR + 1], of[32], so_far[32];
    done = done < progress->total ? done : progress->total;
    size_t full = (size_t)((double)done / (double)progress->total * BAR);
    memset(bar, ' ', BAR);
    memset(bar, '=', full);
    bar[BAR] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %s of %s \033[K", bar,
            100.0 * (double)done / (double)progress->total,
            units_format_size((int64_t)done, so_far, sizeof so_far),
            units_format_size((int64_t)progress->total, of, sizeof of));
    progress->shown_ns = now;
    progress->drawn = true;
}

void log_progress_clear(struct log_progress *progress)
{
    if (progress->drawn) {
        fputs("\r\033[K", stderr);
        progress->drawn = false;
    }
}

const char *log_time(int64_t wall_ns, char *out, size_t size)
{
    char whole[CLOCK_TEXT];
    if (wall_ns == 0) {
        snprintf(out, size, "-");
        return out;
    }
    clock_format(wall_ns, whole);
    snprintf(out, size, "%.19sZ", whole);
    return out;
}

void log_print_json(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', stdout);
    json_decref(json);
}
