/* SPDX-License-Identifier: MIT */
/*
 * Self-metrics; see self.h. Nothing here allocates: /proc is read into the stack, and descriptors
 * are counted with getdents64 since opendir takes memory for each walk.
 */
#include "core/self.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/metric.h"

enum metric_index {
    M_VERSION,
    M_UPTIME,
    M_MEMORY,
    M_DESCRIPTORS,
    M_THREADS,
    M_CPU_TIME,
    M_GENERATION,
    M_HASH,
    M_REJECTED,
    M_BATCHES,
    M_VALUES,
    M_ROLE,
    M_PLUGIN,
    M_STATE,
    M_PROBLEM,
    M_DURATION,
    M_LATENESS,
    M_CALLS,
    M_ERRORS,
    M_SKIPPED,
    M_STUCK,
    M_RESTARTS,
    M_DEPTH,
    M_CAPACITY,
    M_OVERFLOW,
    M_FAILED,
    M_NO_MEMORY,
    M_CHILD_PID,
    M_CHILD_EXITS,
    M_METRICS,
};

static const char *const names[M_METRICS] = {
    [M_VERSION] = "self.version",
    [M_UPTIME] = "self.uptime",
    [M_MEMORY] = "self.memory",
    [M_DESCRIPTORS] = "self.descriptors",
    [M_THREADS] = "self.threads",
    [M_CPU_TIME] = "self.cpu_time",
    [M_GENERATION] = "self.config.generation",
    [M_HASH] = "self.config.hash",
    [M_REJECTED] = "self.config.rejected",
    [M_BATCHES] = "self.batches",
    [M_VALUES] = "self.values",
    [M_ROLE] = "instance.role",
    [M_PLUGIN] = "instance.plugin",
    [M_STATE] = "instance.state",
    [M_PROBLEM] = "instance.problem",
    [M_DURATION] = "instance.duration",
    [M_LATENESS] = "instance.lateness",
    [M_CALLS] = "instance.calls",
    [M_ERRORS] = "instance.errors",
    [M_SKIPPED] = "instance.skipped",
    [M_STUCK] = "instance.stuck",
    [M_RESTARTS] = "instance.restarts",
    [M_DEPTH] = "instance.queue.depth",
    [M_CAPACITY] = "instance.queue.capacity",
    [M_OVERFLOW] = "instance.dropped.overflow",
    [M_FAILED] = "instance.dropped.failed",
    [M_NO_MEMORY] = "instance.dropped.memory",
    [M_CHILD_PID] = "instance.child.pid",
    [M_CHILD_EXITS] = "instance.child.exits",
};

static int32_t ids[M_METRICS];
static pthread_once_t ids_once = PTHREAD_ONCE_INIT;

static void find_ids(void)
{
    for (int i = 0; i < M_METRICS; i++) {
        ids[i] = (int32_t)metric_find(names[i])->id;
    }
}

/* ---- the process ----------------------------------------------------------------------------- */

/* A small file of /proc into text; false when it cannot be read. */
static bool read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (length < 0) {
        return false;
    }
    out[length] = '\0';
    return true;
}

static int64_t read_memory(void)
{
    char text[256];
    long pages;
    if (!read_text("/proc/self/statm", text, sizeof text) || sscanf(text, "%*s %ld", &pages) != 1) {
        return -1;
    }
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static int64_t read_threads(void)
{
    char text[1024];
    long threads;
    /* The name in parentheses may hold anything, so count from its end: the 18th field after it. */
    char *end = read_text("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    if (!end ||
        sscanf(end + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
               &threads) != 1) {
        return -1;
    }
    return threads;
}

static int64_t count_descriptors(void)
{
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    _Alignas(struct dirent64) char entries[4096];
    int64_t count = 0;
    long length;
    while ((length = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
        for (long at = 0; at < length;) {
            const struct dirent64 *entry = (const void *)(entries + at);
            count += entry->d_name[0] != '.';
            at += entry->d_reclen;
        }
    }
    close(fd);
    return count - 1; /* the one that we read with */
}

void self_process(struct self_process *out)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    *out = (struct self_process){.memory_bytes = read_memory(),
                                 .descriptors = count_descriptors(),
                                 .threads = read_threads(),
                                 .cpu_seconds = (double)used.tv_sec + (double)used.tv_nsec * 1e-9};
}

/* ---- the batch ------------------------------------------------------------------------------- */

static void put_count(struct tacho_batch *batch, enum metric_index metric, uint64_t number)
{
    batch_i64(batch, ids[metric], (int64_t)number);
}

static void put_known(struct tacho_batch *batch, enum metric_index metric, int64_t number)
{
    if (number >= 0) {
        batch_i64(batch, ids[metric], number);
    } else {
        batch_absent(batch, ids[metric], TACHO_ABSENT_ERROR);
    }
}

static void put_histogram(struct tacho_batch *batch, enum metric_index metric,
                          const struct histogram *histogram)
{
    struct tacho_summary summary;
    if (histogram->count > 0) {
        histogram_summary(histogram, &summary);
        batch_summary(batch, ids[metric], &summary);
    } else {
        batch_absent(batch, ids[metric], TACHO_ABSENT_NOT_YET);
    }
}

static void fill_process(struct tacho_batch *batch, const struct self_facts *facts)
{
    struct self_process process;
    self_process(&process);
    batch_text(batch, ids[M_VERSION], PACKAGE_VERSION);
    batch_f64(batch, ids[M_UPTIME],
              (double)(clock_mono_ns() - facts->started_ns) / (double)NS_PER_S);
    put_known(batch, M_MEMORY, process.memory_bytes);
    put_known(batch, M_DESCRIPTORS, process.descriptors);
    put_known(batch, M_THREADS, process.threads);
    batch_f64(batch, ids[M_CPU_TIME], process.cpu_seconds);
    put_count(batch, M_GENERATION, facts->generation);
    batch_text(batch, ids[M_HASH], facts->hash);
    put_count(batch, M_REJECTED, facts->rejected);
    put_count(batch, M_BATCHES, bus_batches(facts->bus));
    put_count(batch, M_VALUES, bus_values(facts->bus));
}

static void fill_instance(struct tacho_batch *batch, struct instance *instance)
{
    struct instance_view view;
    instance_look(instance, true, &view);
    const struct instance_stats *stats = &view.stats;
    batch_entity(batch, "instance", instance->host.name, 0, 0);
    batch_text(batch, ids[M_ROLE], instance_role_name(instance->conf->role));
    batch_text(batch, ids[M_PLUGIN], instance->conf->plugin);
    batch_text(batch, ids[M_STATE], instance_state_name(view.state));
    batch_text(batch, ids[M_PROBLEM], view.problem);
    put_histogram(batch, M_DURATION, &stats->duration);
    put_count(batch, M_CALLS, stats->calls);
    put_count(batch, M_ERRORS, stats->errors);
    put_count(batch, M_STUCK, stats->stuck);
    put_count(batch, M_RESTARTS, stats->restarts);
    put_count(batch, M_NO_MEMORY, stats->dropped_memory);
    if (instance->conf->role == CONF_PROVIDER) {
        put_histogram(batch, M_LATENESS, &stats->lateness);
        put_count(batch, M_SKIPPED, stats->skipped);
    } else {
        put_count(batch, M_DEPTH, view.queue.depth);
        put_count(batch, M_CAPACITY, view.queue.capacity);
        put_count(batch, M_OVERFLOW, view.queue.dropped);
        put_count(batch, M_FAILED, stats->dropped_failed);
    }
    if (instance->conf->isolate) {
        put_count(batch, M_CHILD_PID, (uint64_t)view.child_pid);
        put_count(batch, M_CHILD_EXITS, view.child_exits);
    }
}

void self_fill(struct tacho_batch *batch, const struct self_facts *facts, const char *host,
               struct instance *const *instances, uint32_t count)
{
    pthread_once(&ids_once, find_ids);
    batch_entity(batch, "host", host, -1, 0);
    fill_process(batch, facts);
    for (uint32_t i = 0; i < count; i++) {
        fill_instance(batch, instances[i]);
    }
}
