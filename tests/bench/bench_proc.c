/* SPDX-License-Identifier: MIT */
/*
 * What one tick of proc (collect and seal) costs, against a bare loop that reads the same files and
 * throws them away. The files are those that the provider itself keeps open, found by looking at
 * our own descriptors, so the two cannot drift apart; the walk over processes opens, reads and
 * closes each stat file, as every program does that keeps none open. Both take turns in short
 * rounds; the median round counts.
 *
 *     bench_proc [rounds]       prints "NAME OURS_NS BARE_NS" for each variant
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/batch.h"
#include "core/module.h"
#include "core/option.h"
#include "tests/fakehost.h"

enum { FILE_LIMIT = 4096, TICKS = 50, ROUND_LIMIT = 1000 };

struct bare {
    int files[FILE_LIMIT];
    size_t count;
    char mounts[64][256];
    size_t mount_count;
    int proc; /* folder to walk, or -1 */
};

struct ours {
    struct fakehost host;
    const struct module *module;
    void *options, *self;
};

static char buffer[256 * 1024];

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void fail(const char *what, const struct tacho_err *err)
{
    fprintf(stderr, "bench_proc: %s: %s\n", what, err->text);
    exit(1);
}

/* ---- ours ------------------------------------------------------------------------------------ */

static void ours_open(struct ours *ours, const char *processes)
{
    struct tacho_err err = {0};
    char *value = (char *)(uintptr_t)processes;
    struct option_text given = {
        .name = (char *)(uintptr_t) "processes", .values = &value, .count = 1};
    if (module_load("proc", &ours->module, &err) != TACHO_OK ||
        option_fill(ours->module, &given, 1, &ours->options, &err) != TACHO_OK) {
        fail("proc", &err);
    }
    fakehost_init(&ours->host, &ours->module->plugin);
    ours->self = fakehost_open(&ours->host, ours->options, &err);
    if (!ours->self) {
        fail("open", &err);
    }
}

static const struct tacho_batch *ours_tick(struct ours *ours)
{
    struct tacho_err err;
    int result;
    return fakehost_collect(&ours->host, ours->self, &result, &err);
}

static void ours_close(struct ours *ours)
{
    fakehost_close(&ours->host, ours->self);
    fakehost_fini(&ours->host);
    option_free(ours->module, ours->options);
}

/* ---- bare ------------------------------------------------------------------------------------ */

static int is_stat_of_process(const char *path)
{
    return strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9' &&
           strcmp(strrchr(path, '/'), "/stat") == 0;
}

static int is_link(const char *path)
{
    return strncmp(path, "/sys/", 5) == 0 && strstr(path, "/net/");
}

/* Opens again what the provider holds open below /proc and /sys and reads in each tick; the mount
 * table and the state of links it only reads when they changed. */
static void find_files(struct bare *bare)
{
    DIR *list = opendir("/proc/self/fd");
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        char path[512];
        ssize_t length = readlinkat(dirfd(list), entry->d_name, path, sizeof path - 1);
        path[length > 0 ? length : 0] = '\0';
        if ((strncmp(path, "/proc/", 6) != 0 && strncmp(path, "/sys/", 5) != 0) ||
            is_stat_of_process(path) || strstr(path, "mountinfo") || is_link(path) ||
            strstr(path, "/fd")) {
            continue;
        }
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && bare->count < FILE_LIMIT) {
            bare->files[bare->count++] = fd;
        }
    }
    if (list) {
        closedir(list);
    }
}

static void find_mounts(struct bare *bare, const struct tacho_batch *batch)
{
    for (uint32_t i = 0; i < batch->entity_count && bare->mount_count < 64; i++) {
        if (strcmp(batch->entities[i].kind, "filesystem") == 0) {
            snprintf(bare->mounts[bare->mount_count++], 256, "%s", batch->entities[i].key);
        }
    }
}

static void walk(int folder)
{
    lseek(folder, 0, SEEK_SET);
    static char names[64 * 1024];
    for (ssize_t got; (got = getdents64(folder, names, sizeof names)) > 0;) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(names + at);
            at += entry->d_reclen;
            if (entry->d_name[0] < '0' || entry->d_name[0] > '9') {
                continue;
            }
            char path[300];
            snprintf(path, sizeof path, "%s/stat", entry->d_name);
            int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
            if (fd >= 0) {
                (void)!read(fd, buffer, sizeof buffer);
                close(fd);
            }
        }
    }
}

static void bare_tick(const struct bare *bare)
{
    struct statvfs status;
    for (size_t i = 0; i < bare->count; i++) {
        off_t at = 0;
        ssize_t got;
        do {
            got = pread(bare->files[i], buffer, sizeof buffer, at);
            at += got;
        } while (got == (ssize_t)sizeof buffer);
    }
    for (size_t i = 0; i < bare->mount_count; i++) {
        (void)statvfs(bare->mounts[i], &status);
    }
    if (bare->proc >= 0) {
        walk(bare->proc);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static void run(const char *name, const char *processes, int rounds)
{
    static double ours_ns[ROUND_LIMIT];
    static double bare_ns[ROUND_LIMIT];
    struct ours ours;
    struct bare bare = {.proc = -1};
    ours_open(&ours, processes);
    const struct tacho_batch *first = ours_tick(&ours);
    find_files(&bare);
    find_mounts(&bare, first);
    batch_unref(first);
    if (strcmp(processes, "0") != 0) {
        bare.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    for (int round = -2; round < rounds; round++) {
        int at = round < 0 ? 0 : round;
        double begin = cpu_ns();
        for (int i = 0; i < TICKS; i++) {
            batch_unref(ours_tick(&ours));
        }
        double middle = cpu_ns();
        for (int i = 0; i < TICKS; i++) {
            bare_tick(&bare);
        }
        bare_ns[at] = (cpu_ns() - middle) / TICKS;
        ours_ns[at] = (middle - begin) / TICKS;
    }
    qsort(ours_ns, (size_t)rounds, sizeof(double), compare);
    qsort(bare_ns, (size_t)rounds, sizeof(double), compare);
    printf("%s %.0f %.0f\n", name, ours_ns[rounds / 2], bare_ns[rounds / 2]);
    for (size_t i = 0; i < bare.count; i++) {
        close(bare.files[i]);
    }
    ours_close(&ours);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 40;
    rounds = rounds < 1 ? 1 : rounds > ROUND_LIMIT ? ROUND_LIMIT : rounds;
    run("system", "0", rounds);
    run("system+processes", "10", rounds);
    return 0;
}
