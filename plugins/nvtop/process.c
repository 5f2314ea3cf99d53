/* SPDX-License-Identifier: MIT */
/* The processes on a device, and who they are: the host knows better than nvtop, where it can. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvtop/fill.h"

#define PROCESS_LIMIT 4096 /* of one device; the others are only counted */

struct process {
    double values[NVTOP_METRICS];
    int32_t pid;
    char command[NVTOP_TEXT];
    char kind[32];
    char user[64];
};

static void take_process_text(struct process *process, const char *name, const char *text)
{
    char *place = NULL;
    size_t size = 0;
    if (strcmp(name, "pid") == 0) {
        long pid = strtol(text, NULL, 10);
        process->pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
    } else if (strcmp(name, "cmdline") == 0) {
        place = process->command, size = sizeof process->command;
    } else if (strcmp(name, "kind") == 0) {
        place = process->kind, size = sizeof process->kind;
    } else if (strcmp(name, "user") == 0) {
        place = process->user, size = sizeof process->user;
    } else {
        (void)nvtop_take_member(nvtop_process_members, name, text, process->values);
    }
    if (place) {
        (void)snprintf(place, size, "%s", text);
    }
}

/* Reads one, from behind its opening brace; false when it is cut. */
static bool read_process(struct nvtop_json *json, struct process *out)
{
    char name[64];
    char text[NVTOP_TEXT];
    memset(out, 0, sizeof *out);
    nvtop_clear_values(out->values);
    for (;;) {
        enum nvtop_kind kind = nvtop_json_next(json, name, sizeof name);
        if (kind == NVTOP_END || kind == NVTOP_CLOSE) {
            return kind == NVTOP_CLOSE;
        }
        if (kind == NVTOP_TEXT_VALUE && nvtop_json_colon(json)) {
            kind = nvtop_json_next(json, text, sizeof text);
            if (kind == NVTOP_TEXT_VALUE) {
                take_process_text(out, name, text);
            }
        }
        if ((kind == NVTOP_ARRAY || kind == NVTOP_OBJECT) && !nvtop_json_skip(json)) {
            return false;
        }
        if (kind == NVTOP_CLOSE) {
            return true;
        }
    }
}

static const char *process_type(const char *kind)
{
    if (strcmp(kind, "graphic & compute") == 0) {
        return "mixed";
    }
    return strcmp(kind, "graphic") == 0 ? "graphics" : kind;
}

/* Who it is, from the host when the number means something here; else what nvtop says. */
static void identify(const struct nvtop_fill *fill, const struct process *process,
                     struct tacho_process *out)
{
    const struct tacho_host *host = fill->host;
    const char *proc = fill->options->proc;
    struct tacho_err err = {0};
    *out = (struct tacho_process){.struct_size = sizeof *out};
    if (!TACHO_HOST_HAS(host, process) || !TACHO_HOST_HAS(host, process_sees_host) ||
        !host->process_sees_host(proc) ||
        host->process(proc, process->pid, out, &err) != TACHO_OK) {
        *out = (struct tacho_process){.struct_size = sizeof *out};
    }
    if (!out->user[0]) {
        (void)snprintf(out->user, sizeof out->user, "%s", process->user);
    }
    if (!out->command[0]) {
        (void)snprintf(out->command, sizeof out->command, "%.255s",
                       process->command[0] ? process->command : out->name);
    }
}

static void put_process(const struct nvtop_fill *fill, const struct process *process,
                        int32_t parent)
{
    struct tacho_process who;
    char key[48];
    char pid[16];
    identify(fill, process, &who);
    (void)snprintf(key, sizeof key, "%" PRId32 ":%" PRIu64, process->pid, who.start_ticks);
    (void)snprintf(pid, sizeof pid, "%" PRId32, process->pid);
    (void)fill->host->entity(fill->batch, "process", key, parent, TACHO_VOLATILE);
    nvtop_put_label(fill, "pid", pid);
    nvtop_put_label(fill, "user", who.user);
    nvtop_put_label(fill, "command", who.command);
    nvtop_put_label(fill, "type", process_type(process->kind));
    nvtop_put_label(fill, "container", who.container);
    nvtop_put_label(fill, "runtime", who.runtime);
    nvtop_put_label(fill, "pod", who.pod);
    nvtop_put_label(fill, "job", who.job);
    nvtop_put_label(fill, "unit", who.unit);
    for (const struct nvtop_member *member = nvtop_process_members; member->name; member++) {
        nvtop_put(fill, member->metric, process->values[member->metric], TACHO_ABSENT_UNSUPPORTED);
    }
}

void nvtop_each_process(const struct nvtop_fill *fill, const char *text, int32_t parent,
                        uint32_t *out_count, double *out_bytes)
{
    struct nvtop_json json = {text, fill->end};
    struct process process;
    char word[8];
    *out_count = 0;
    *out_bytes = 0;
    for (;;) {
        enum nvtop_kind kind = nvtop_json_next(&json, word, sizeof word);
        if (kind == NVTOP_END || kind == NVTOP_CLOSE) {
            return;
        }
        if (kind == NVTOP_OBJECT && read_process(&json, &process) && process.pid > 0) {
            if (parent >= 0 && *out_count < PROCESS_LIMIT) {
                put_process(fill, &process, parent);
            }
            (*out_count)++;
            *out_bytes += process.values[PROCESS_MEMORY];
        }
    }
}
