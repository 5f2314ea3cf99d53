/* SPDX-License-Identifier: MIT */
/*
 * The provider proc: the host by way of /proc and /sys. This file holds what the daemon sees, the
 * tables and the life cycle; each area has a file of its own. A collect first reads all areas, then
 * publishes: a batch wants the host's values together before those of its parts.
 */
#include "plugins/proc/proc.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>

static const struct tacho_option options_table[] = {
    {.name = "root",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, root),
     .preset = "",
     .help = "Where the host's proc, sys and etc are found; \"/host\" in a container"},
    {.name = "per_core",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, per_core),
     .preset = "true",
     .help = "One entity for each logical CPU"},
    {.name = "frequency",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, frequency),
     .preset = "true",
     .help = "Clock frequencies of the CPUs"},
    {.name = "pressure",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, pressure),
     .preset = "true",
     .help = "Pressure stall information"},
    {.name = "sensors",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, sensors),
     .preset = "true",
     .help = "Temperatures"},
    {.name = "numa",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, numa),
     .preset = "true",
     .help = "Memory of each NUMA node"},
    {.name = "processes",
     .type = TACHO_INT,
     .offset = offsetof(struct options, processes),
     .preset = "10",
     .minimum = 0,
     .maximum = 1000,
     .help = "How many of the busiest processes to show; 0: do not look at processes"},
    {.name = "disks",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, disks),
     .help = "Globs of the disks to show; none: all but loop*, ram*, zram*, fd* and sr*"},
    {.name = "disks_exclude",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, disks_exclude),
     .help = "Globs of disks not to show, in place of the built-in ones"},
    {.name = "partitions",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, partitions),
     .preset = "false",
     .help = "Show partitions as disks too"},
    {.name = "interfaces",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, interfaces),
     .help = "Globs of the network interfaces to show; none: all but veth*"},
    {.name = "interfaces_exclude",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, interfaces_exclude),
     .help = "Globs of interfaces not to show, in place of the built-in one"},
    {.name = "filesystems",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, filesystems),
     .help = "Globs of the mount points to show; none: all real file systems"},
    {.name = "filesystems_exclude",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, filesystems_exclude),
     .help = "Globs of mount points not to show"},
    {.name = "filesystem_types",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct options, filesystem_types),
     .help = "Globs of types to show besides the real ones, such as \"tmpfs\""},
    {.name = "network_filesystems",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, network_filesystems),
     .preset = "false",
     .help = "Show file systems of other machines (nfs, cifs, …) and of programs (fuse)"},
    {.name = "filesystem_timeout",
     .type = TACHO_DURATION,
     .offset = offsetof(struct options, filesystem_timeout_ns),
     .preset = "200ms",
     .minimum = 0.001,
     .maximum = 60,
     .help = "How long to wait for a network file system before it counts as stuck"},
    {.name = "slow_interval",
     .type = TACHO_DURATION,
     .offset = offsetof(struct options, slow_interval_ns),
     .preset = "10s",
     .minimum = 0.1,
     .maximum = 86400,
     .help = "How often to look for what rarely changes: CPU model, OS, sensors, mounts"},
};

static const struct tacho_metric metrics_table[] = {
#define METRIC(index_, name_, unit_, kind_, help_) \
    {.name = (name_), .unit = (unit_), .kind = TACHO_##kind_, .help = (help_)},
#include "plugins/proc/metrics.def"
#undef METRIC
};

static bool matches(const char *name, const struct tacho_strings *globs)
{
    for (uint32_t i = 0; i < globs->count; i++) {
        if (fnmatch(globs->items[i], name, 0) == 0) {
            return true;
        }
    }
    return false;
}

bool glob_wanted(const char *name, const struct tacho_strings *include,
                 const struct tacho_strings *exclude)
{
    return (!include->count || matches(name, include)) && !matches(name, exclude);
}

static void proc_close(void *self)
{
    struct proc *proc = self;
    struct reader *reader = &proc->reader;
    cpu_fini(&proc->cpu, reader);
    memory_fini(&proc->memory, reader);
    system_fini(&proc->system, reader);
    pressure_fini(&proc->pressure, reader);
    disks_fini(&proc->disks, reader);
    network_fini(&proc->network, reader);
    filesystems_fini(&proc->filesystems, reader);
    numa_fini(&proc->numa, reader);
    processes_fini(&proc->processes, reader);
    sensors_fini(&proc->sensors, reader);
    reader_fini(reader);
    free(proc);
}

static int proc_open(const struct tacho_host *host, const void *options, void **out_self,
                     struct tacho_err *err)
{
    struct proc *proc = calloc(1, sizeof *proc);
    if (!proc) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance");
    }
    proc->host = host;
    proc->options = *(const struct options *)options;
    const struct options *own = &proc->options;
    int failed = reader_init(&proc->reader, own->root, own->slow_interval_ns);
    if (failed) {
        (void)tacho_fail(err, TACHO_CONFIG, "cannot open root \"%s\": %s; is the path right?",
                         own->root, strerror(-failed));
        free(proc);
        return TACHO_CONFIG;
    }
    cpu_init(&proc->cpu, own);
    memory_init(&proc->memory);
    system_init(&proc->system);
    pressure_init(&proc->pressure, own);
    disks_init(&proc->disks, own);
    network_init(&proc->network, own);
    filesystems_init(&proc->filesystems, own);
    numa_init(&proc->numa, own);
    sensors_init(&proc->sensors, own);
    if (processes_init(&proc->processes, own)) {
        proc_close(proc);
        return tacho_fail(err, TACHO_RETRY, "no memory for %u processes", (unsigned)own->processes);
    }
    *out_self = proc;
    return TACHO_OK;
}

static void read_all(struct proc *proc)
{
    if (!proc->slow_ns || proc->reader.now_ns - proc->slow_ns >= proc->options.slow_interval_ns) {
        proc->slow_ns = proc->reader.now_ns;
        system_identify(proc);
        if (proc->options.processes) {
            users_read(&proc->processes, &proc->reader);
        }
    }
    cpu_read(proc);
    memory_read(proc);
    system_read(proc);
    pressure_read(proc);
    disks_read(proc);
    network_read(proc);
    filesystems_read(proc);
    numa_read(proc);
    processes_read(proc);
    sensors_read(proc);
}

static void publish_all(const struct proc *proc, struct out *out)
{
    out->root = out->host->entity(out->batch, "host",
                                  out->host->setting(out->host, TACHO_SETTING_HOST), -1, 0);
    system_host(proc, out);
    cpu_host(proc, out);
    memory_host(proc, out);
    pressure_host(proc, out);
    numa_host(proc, out);
    processes_host(proc, out);
    cpu_list(proc, out);
    disks_list(proc, out);
    filesystems_list(proc, out);
    network_list(proc, out);
    numa_list(proc, out);
    sensors_list(proc, out);
    processes_list(proc, out);
}

static int proc_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                        struct tacho_err *err)
{
    struct proc *proc = self;
    struct out out = {.host = proc->host, .batch = batch};
    (void)
        deadline_ns; /* nothing here waits, but for file systems, and those have their own limit */
    proc->reader.now_ns = proc->host->mono_ns();
    int64_t passed_ns = proc->reader.now_ns - proc->before_ns;
    proc->elapsed_s = proc->before_ns && passed_ns > 0 ? (double)passed_ns / 1e9 : 0;
    proc->before_ns = proc->reader.now_ns;
    read_all(proc);
    publish_all(proc, &out);
    if (proc->cpu.error && proc->memory.meminfo_error) {
        return tacho_fail(err, TACHO_PARTIAL,
                          "cannot read %s/proc/stat: %s; is proc mounted there?",
                          proc->options.root, strerror(-proc->cpu.error));
    }
    return TACHO_OK;
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "proc",
    .version = "0.1.0",
    .summary = "Measures the host: CPU, memory, disks, network, processes and temperatures",
    TACHO_OPTIONS(options_table, struct options),
    TACHO_METRICS(metrics_table),
    .open = proc_open,
    .close = proc_close,
    .collect = proc_collect,
};
