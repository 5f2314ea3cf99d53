/* SPDX-License-Identifier: MIT */
/* tacho log ls: the segments of a log. A sealed segment tells what is in it; others are read. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/log.h"
#include "core/units.h"

static const char help[] =
    "usage: tacho log ls [--json] PATH\n\n"
    "Lists the segments of a log, oldest first: whether each is sealed (closed by its writer) or\n"
    "still open, its batches and values, the time that they cover, and its size.\n";

/* The seal if there is one, else by reading. */
static bool look_into(const struct log_file *file, struct segment_seal *out, bool *out_sealed)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    *out_sealed = fd >= 0 && segment_find_seal(fd, out) == TACHO_OK;
    if (fd >= 0) {
        close(fd);
    }
    if (*out_sealed) {
        return true;
    }
    struct log_summary summary;
    if (!log_summarise(file, "ls", NULL, NULL, &summary)) {
        return false;
    }
    *out = summary.tally.seal;
    return true;
}

static json_t *row_json(const struct log_file *file, const struct segment_seal *seal, bool sealed)
{
    char from[CLOCK_TEXT] = "", to[CLOCK_TEXT] = "";
    if (seal->frames) {
        clock_format(seal->first_ns, from);
        clock_format(seal->last_ns, to);
    }
    return json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:s, s:s, s:I}", "name", file->name, "sealed",
                     (int)sealed, "frames", (json_int_t)seal->frames, "values",
                     (json_int_t)seal->values, "first_seq", (json_int_t)seal->first_seq, "last_seq",
                     (json_int_t)seal->last_seq, "from", from, "to", to, "bytes",
                     (json_int_t)file->bytes);
}

static void print_row(const struct log_file *file, const struct segment_seal *seal, bool sealed)
{
    char from[32], to[32], size[32];
    printf("%-45s %-6s %9" PRIu64 " %11" PRIu64 "  %-20s  %-20s %9s\n", file->name,
           sealed ? "sealed" : "open", seal->frames, seal->values,
           log_time(seal->first_ns, from, sizeof from), log_time(seal->last_ns, to, sizeof to),
           units_format_size((int64_t)file->bytes, size, sizeof size));
}

int log_ls(int argc, char **argv)
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
    json_t *list = arguments.json ? json_array() : NULL;
    if (!list) {
        printf("%-45s %-6s %9s %11s  %-20s  %-20s %9s\n", "SEGMENT", "STATE", "BATCHES", "VALUES",
               "FROM", "TO", "SIZE");
    }
    status = CMD_OK;
    for (size_t i = 0; i < files.count; i++) {
        struct segment_seal seal = {0};
        bool sealed;
        if (!look_into(&files.items[i], &seal, &sealed)) {
            status = CMD_NO;
        } else if (list) {
            json_array_append_new(list, row_json(&files.items[i], &seal, sealed));
        } else {
            print_row(&files.items[i], &seal, sealed);
        }
    }
    if (list) {
        log_print_json(list);
    }
    log_files_fini(&files);
    return status;
}
