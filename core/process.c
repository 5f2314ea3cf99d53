/* SPDX-License-Identifier: MIT */
/*
 * Facts about one process from its folder below /proc; see process.h. What its cgroup tells is in
 * process_cgroup.c. Everything is read through one descriptor of the folder, so that it is all
 * about the same process even if the number is given away meanwhile.
 */
#include "core/process.h"

#include <ctype.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/err.h"

enum { TEXT = 4096 };

/* The file's beginning, NUL-terminated; its length, or -1. */
static ssize_t read_at(int folder, const char *name, char *out, size_t size)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    ssize_t length = read(fd, out, size - 1);
    close(fd);
    if (length >= 0) {
        out[length] = '\0';
    }
    return length;
}

/* Name and start from "pid (name) state …": the name may hold anything, so count from its last ')'.
 * The start is the 22nd field, the 20th behind the name. */
static bool parse_stat(const char *text, struct tacho_process *out)
{
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    if (!open || !close || close < open) {
        return false;
    }
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    const char *at = close + 1;
    for (int field = 0; field < 20; field++) {
        at += strspn(at, " ");
        if (field == 19) {
            break;
        }
        at += strcspn(at, " ");
    }
    if (!isdigit((unsigned char)*at)) {
        return false;
    }
    out->start_ticks = strtoull(at, NULL, 10);
    return true;
}

/* Arguments are separated by NULs; kernel threads have none. */
static void set_command(char *text, ssize_t length, struct tacho_process *out)
{
    while (length > 0 && text[length - 1] == '\0') {
        length--;
    }
    for (ssize_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ') {
            text[i] = ' ';
        }
    }
    if (length > 0) {
        snprintf(out->command, sizeof out->command, "%.*s", (int)length, text);
    } else {
        snprintf(out->command, sizeof out->command, "[%s]", out->name);
    }
}

static void set_user(uint32_t uid, struct tacho_process *out)
{
    char memory[1024];
    struct passwd entry, *found = NULL;
    out->uid = uid;
    if (getpwuid_r(uid, &entry, memory, sizeof memory, &found) == 0 && found) {
        snprintf(out->user, sizeof out->user, "%s", entry.pw_name);
    } else {
        snprintf(out->user, sizeof out->user, "%u", uid);
    }
}

/* When the machine started, from "btime SECONDS" in /proc/stat; 0 when that is not there. */
static int64_t boot_time_ns(const char *proc)
{
    char path[TEXT], line[256];
    snprintf(path, sizeof path, "%s/stat", proc);
    FILE *file = fopen(path, "re");
    int64_t boot_ns = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "btime ", 6) == 0) {
            boot_ns = strtoll(line + 6, NULL, 10) * NS_PER_S;
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return boot_ns;
}

static int read_folder(const char *proc, int folder, struct tacho_process *out,
                       struct tacho_err *err)
{
    char text[TEXT];
    struct stat status;
    if (read_at(folder, "stat", text, sizeof text) <= 0 || !parse_stat(text, out)) {
        return tacho_fail(err, TACHO_NO_DATA, "process %d has ended", out->pid);
    }
    int64_t boot_ns = boot_time_ns(proc);
    if (boot_ns) {
        int64_t tick_ns = NS_PER_S / sysconf(_SC_CLK_TCK);
        out->start_wall_ns = boot_ns + (int64_t)out->start_ticks * tick_ns;
    }
    ssize_t length = read_at(folder, "cmdline", text, sizeof text);
    set_command(text, length, out);
    if (fstat(folder, &status) == 0) {
        set_user(status.st_uid, out);
    }
    if (read_at(folder, "cgroup", text, sizeof text) > 0) {
        process_read_cgroup(text, out);
    }
    return TACHO_OK;
}

int process_read(const char *proc, int32_t pid, struct tacho_process *out, struct tacho_err *err)
{
    char path[TEXT];
    struct tacho_process found = {.struct_size = out->struct_size, .pid = pid};
    snprintf(path, sizeof path, "%s/%d", proc, pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return err_sys(err, TACHO_NO_DATA, "process %d: opening '%s'", pid, path);
    }
    int result = read_folder(proc, folder, &found, err);
    close(folder);
    if (result == TACHO_OK) {
        /* A plugin built before members were added has a smaller struct. */
        size_t room = out->struct_size < sizeof found ? out->struct_size : sizeof found;
        memcpy(out, &found, room);
    }
    return result;
}

int process_sees_host(const char *proc)
{
    /* The kernel's own first namespace has this number in every kernel since 3.8. */
    enum { FIRST_PID_NAMESPACE = 0xEFFFFFFC };
    char path[TEXT];
    struct stat status;
    snprintf(path, sizeof path, "%s/self/ns/pid", proc);
    if (stat(path, &status) != 0) {
        snprintf(path, sizeof path, "%s/1/ns/pid", proc);
        if (stat(path, &status) != 0) {
            return 0;
        }
    }
    return status.st_ino == (ino_t)(unsigned)FIRST_PID_NAMESPACE;
}
