/* SPDX-License-Identifier: MIT */
/*
 * An instance of proc and its areas. Each area reads in one step and publishes in one or two, as a
 * batch holds all values of the host before those of the next entity:
 *
 *     AREA_read    files into the area's struct, what was there before kept for rates
 *     AREA_host    values on the host's entity
 *     AREA_list    entities of the area's own: cores, disks, …
 *
 * Parsing is apart from reading (AREA_parse), so that tests feed texts.
 */
#ifndef TACHO_PLUGINS_PROC_PROC_H
#define TACHO_PLUGINS_PROC_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plugin.h"
#include "plugins/proc/scan.h"
#include "plugins/proc/slots.h"

enum metric_index {
#define METRIC(index, name, unit, kind, help) M_##index,
#include "plugins/proc/metrics.def"
#undef METRIC
};

/* The plugin's options; see the table in proc.c. */
struct options {
    const char *root;
    int32_t per_core;
    int32_t frequency;
    int32_t pressure;
    int32_t sensors;
    int32_t numa;
    int64_t processes;
    struct tacho_strings disks, disks_exclude;
    int32_t partitions;
    struct tacho_strings interfaces, interfaces_exclude;
    struct tacho_strings filesystems, filesystems_exclude, filesystem_types;
    int32_t network_filesystems;
    int64_t filesystem_timeout_ns;
    int64_t slow_interval_ns;
};

/* Whether a name passes two lists of globs: one of the first (all when empty), none of the second.
 */
bool glob_wanted(const char *name, const struct tacho_strings *include,
                 const struct tacho_strings *exclude);

/* ---- publishing ------------------------------------------------------------------------------ */

/* Where values go during one collect. */
struct out {
    const struct tacho_host *host;
    struct tacho_batch *batch;
    int32_t root; /* index of the host's entity */
};

static inline void out_count(const struct out *out, int32_t metric, uint64_t value)
{
    out->host->i64(out->batch, metric, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

/* Numbers that came out of a division: seven digits say all that they know, and a float takes half
 * of a double's room in a log. */
static inline void out_ratio(const struct out *out, int32_t metric, double value)
{
    out->host->f64(out->batch, metric, (double)(float)value);
}

static inline void out_exact(const struct out *out, int32_t metric, double value)
{
    out->host->f64(out->batch, metric, value);
}

static inline void out_absent(const struct out *out, int32_t metric, int reason)
{
    out->host->absent(out->batch, metric, reason);
}

/* Growth per second; `elapsed_s` is 0 when there is nothing to compare with. A counter that went
 * back was reset or wrapped: what it grew by is not known. */
static inline void out_rate(const struct out *out, int32_t metric, uint64_t now, uint64_t before,
                            double scale, double elapsed_s)
{
    if (elapsed_s > 0 && now >= before) {
        out_ratio(out, metric, (double)(now - before) * scale / elapsed_s);
    } else {
        out_absent(out, metric, TACHO_ABSENT_NOT_YET);
    }
}

/* ---- CPU: proc/stat, cpufreq ----------------------------------------------------------------- */

enum { CPU_STATES = 10 }; /* user nice system idle iowait irq softirq steal guest guest_nice */

struct cpu_times {
    uint64_t ticks[CPU_STATES];
    uint32_t fields; /* that the kernel has; older ones have fewer */
};

struct cpu_core {
    struct slot slot;
    struct cpu_times now, before;
    struct source clock;
    char clock_path[80];
    double frequency; /* hertz; 0: not known */
    double frequency_min, frequency_max;
};

struct cpu {
    struct source stat;
    struct slots cores;
    struct cpu_times now, before;
    bool has_before;
    double tick_s; /* one tick of the kernel's accounting */
    int error;     /* of reading proc/stat; negative errno or 0 */
    uint64_t interrupts, context_switches, forks, boot_time_s, running, blocked;
    uint64_t interrupts_before, context_switches_before, forks_before;
    uint32_t seen; /* enum cpu_line: which of these the text had */
    double frequency, frequency_min, frequency_max;
};

enum cpu_line {
    CPU_LINE_INTR = 1,
    CPU_LINE_CTXT = 2,
    CPU_LINE_BTIME = 4,
    CPU_LINE_PROCESSES = 8,
    CPU_LINE_RUNNING = 16,
    CPU_LINE_BLOCKED = 32,
};

/* ---- memory: proc/meminfo, proc/vmstat ------------------------------------------------------- */

enum { VMSTAT_KEYS = 7 };

struct memory {
    struct source meminfo_file, vmstat_file;
    struct table meminfo, vmstat;
    int meminfo_error, vmstat_error;
    uint64_t before[VMSTAT_KEYS];
    uint64_t before_found;
    uint64_t page_bytes;
    uint64_t total_bytes; /* 0: not known */
};

/* ---- system: load, uptime, identity ---------------------------------------------------------- */

struct system {
    struct source loadavg, uptime;
    int load_error, uptime_error;
    double load[3], uptime_s;
    uint64_t threads;
    bool has_threads;
    char hostname[65], os[128], kernel[65], architecture[65], virtualization[32];
    char model[128], vendor[64];
    uint32_t sockets, cores;
    double frequency;        /* proc/cpuinfo's, hertz; 0: none */
    bool frequency_measured; /* it changes from one reading to the next */
};

/* What proc/cpuinfo tells, on any architecture. */
struct cpuinfo {
    char model[128], vendor[64];
    uint32_t sockets, cores, logical; /* 0: not told */
    double frequency;                 /* mean, hertz; 0: not told */
    bool hypervisor, measured;
};

/* The different pairs of package and core among the CPUs. */
#define CPUINFO_IDS 1024

struct cpuinfo_ids {
    uint32_t count;
    uint64_t pairs[CPUINFO_IDS];
};

/* ---- pressure -------------------------------------------------------------------------------- */

enum { PRESSURE_FILES = 4, PRESSURE_LINES = 7 };

struct pressure_line {
    bool found;
    double average[3];
    uint64_t total_us;
};

struct pressure {
    bool enabled;
    struct source files[PRESSURE_FILES];
    int errors[PRESSURE_FILES];
    struct pressure_line lines[PRESSURE_FILES][2]; /* some, full */
};

/* ---- disks ----------------------------------------------------------------------------------- */

enum { DISK_FIELDS = 17 };

struct disk {
    struct slot slot;
    uint64_t now[DISK_FIELDS], before[DISK_FIELDS];
    uint32_t fields;
};

struct disks {
    struct source diskstats;
    struct slots slots;
    struct tacho_strings include, exclude;
    bool partitions;
};

/* ---- network interfaces ---------------------------------------------------------------------- */

enum { NIC_FIELDS = 16 };

struct nic {
    struct slot slot;
    uint64_t now[NIC_FIELDS], before[NIC_FIELDS];
    uint32_t fields;
    struct source state, mtu, changes; /* sys/class/net/NAME/… */
    char paths[3][112];
    uint64_t changes_seen; /* carrier_changes when the link was read */
    int64_t link_read_ns;  /* 0: never */
    int64_t speed;         /* Mbit/s; -1: not known */
    char duplex[12], state_text[20];
    bool has_mtu;
    uint64_t mtu_bytes;
};

struct network {
    struct source dev;
    struct slots slots;
    struct tacho_strings include, exclude;
    int64_t link_interval_ns;
    int links; /* netlink socket that tells of changed links, or -1 */
};

/* ---- file systems ---------------------------------------------------------------------------- */

struct mount;
struct mount_list {
    struct mount *items;
    uint32_t count;
};

struct filesystems {
    struct source mountinfo;
    const struct options *options;
    struct mount_list mounts;
    uint64_t text_hash; /* of the mount table that the list is of */
    int64_t listed_ns;
};

/* One line of mountinfo; the texts are borrowed from it and not ended by NUL. */
struct mount_line {
    const char *device_number, *subtree, *point, *type, *source;
    uint32_t device_number_length, subtree_length, point_length, type_length, source_length;
};

/* ---- NUMA nodes ------------------------------------------------------------------------------ */

enum { NUMA_LIMIT = 64 };

struct numa_node {
    uint32_t id;
    struct source file;
    char path[64];
    struct table table;
};

struct numa {
    bool enabled;
    int64_t listed_ns;
    uint32_t count;
    struct numa_node *nodes[NUMA_LIMIT];
};

/* ---- processes ------------------------------------------------------------------------------- */

#define PROCESS_NAME 64

/* What proc/PID/stat tells. */
struct process_stat {
    const char *name; /* borrowed from the text */
    size_t name_length;
    char state;
    uint64_t cpu_ticks, threads, start_ticks, virtual_bytes, resident_pages;
};

struct process {
    int32_t pid;
    int fd; /* of its stat file, or -1 */
    uint64_t start_ticks, cpu_ticks;
};

/* One of the busiest. */
struct process_top {
    int32_t pid;
    bool fresh;          /* no earlier reading of it */
    uint64_t used_ticks; /* since the last reading */
    struct process_stat stat;
    char name[PROCESS_NAME];
};

struct user {
    uint32_t id;
    char name[33];
};

struct processes {
    uint32_t limit; /* 0: off */
    int folder;     /* proc */
    int error;
    int32_t *pids;
    struct process *old, *now;
    uint32_t pid_count, old_count, now_count, size;
    struct process_top *top;
    uint32_t top_count;
    uint32_t total, sleeping, stopped, zombie;
    double tick_s;
    uint64_t page_bytes;
    struct user *users;
    uint32_t user_count;
    int64_t users_changed_ns;
};

/* ---- temperatures ---------------------------------------------------------------------------- */

struct sensor {
    struct source file;
    char path[96];
    char key[128], chip[48], label[48];
    bool has_maximum, has_critical;
    double maximum, critical;
    double temperature;
    int reason; /* 0: temperature is of now */
};

struct sensors {
    bool enabled;
    bool list_again;
    int64_t listed_ns;
    uint64_t seen; /* hash of the folders that the list is of */
    struct sensor *items;
    uint32_t count;
};

/* ---- an instance ----------------------------------------------------------------------------- */

struct proc {
    const struct tacho_host *host;
    struct options options;
    struct reader reader;
    int64_t before_ns; /* of the last collect; 0: none */
    double elapsed_s;  /* since then; 0 at the first */
    int64_t slow_ns;   /* when rarely changing things were read */
    struct cpu cpu;
    struct memory memory;
    struct system system;
    struct pressure pressure;
    struct disks disks;
    struct network network;
    struct filesystems filesystems;
    struct numa numa;
    struct processes processes;
    struct sensors sensors;
};

void cpu_init(struct cpu *cpu, const struct options *options);
void cpu_fini(struct cpu *cpu, struct reader *reader);
void cpu_parse(struct cpu *cpu, const char *text, size_t length);
void cpu_read(struct proc *proc);
void cpu_host(const struct proc *proc, const struct out *out);
void cpu_list(const struct proc *proc, const struct out *out);

void clock_read(struct proc *proc);

void memory_init(struct memory *memory);
void memory_fini(struct memory *memory, struct reader *reader);
void memory_read(struct proc *proc);
void memory_host(const struct proc *proc, const struct out *out);

void system_init(struct system *system);
void system_fini(struct system *system, struct reader *reader);
void system_identify(struct proc *proc);
void system_read(struct proc *proc);
void system_host(const struct proc *proc, const struct out *out);

void cpuinfo_parse(struct cpuinfo *info, const char *text, size_t length);
void cpuinfo_ids_add(struct cpuinfo_ids *ids, uint32_t package, uint32_t core);
void cpuinfo_ids_count(const struct cpuinfo_ids *ids, uint32_t *out_packages, uint32_t *out_cores);
void os_release_parse(const char *text, size_t length, char *out, size_t size);

void pressure_init(struct pressure *pressure, const struct options *options);
void pressure_fini(struct pressure *pressure, struct reader *reader);
void pressure_parse(struct pressure_line lines[2], const char *text, size_t length);
void pressure_read(struct proc *proc);
void pressure_host(const struct proc *proc, const struct out *out);

void disks_init(struct disks *disks, const struct options *options);
void disks_fini(struct disks *disks, struct reader *reader);
void disks_parse(struct disks *disks, struct reader *reader, const char *text, size_t length);
void disks_read(struct proc *proc);
void disks_list(const struct proc *proc, const struct out *out);

void network_init(struct network *network, const struct options *options);
void network_fini(struct network *network, struct reader *reader);
void network_parse(struct network *network, struct reader *reader, const char *text, size_t length);
void network_read(struct proc *proc);
void network_list(const struct proc *proc, const struct out *out);

void filesystems_init(struct filesystems *filesystems, const struct options *options);
void filesystems_fini(struct filesystems *filesystems, struct reader *reader);
void filesystems_read(struct proc *proc);
void filesystems_list(const struct proc *proc, const struct out *out);
bool mount_parse(struct scan *line, struct mount_line *out);

void numa_init(struct numa *numa, const struct options *options);
void numa_fini(struct numa *numa, struct reader *reader);
void numa_read(struct proc *proc);
void numa_host(const struct proc *proc, const struct out *out);
void numa_list(const struct proc *proc, const struct out *out);

int processes_init(struct processes *processes, const struct options *options);
void processes_fini(struct processes *processes, struct reader *reader);
bool process_parse(struct process_stat *stat, const char *text, size_t length);
void processes_read(struct proc *proc);
void processes_host(const struct proc *proc, const struct out *out);
void processes_list(const struct proc *proc, const struct out *out);

void users_read(struct processes *processes, struct reader *reader);
void users_parse(struct processes *processes, const char *text, size_t length);
const char *users_find(const struct processes *processes, uint32_t id, char number[12]);

void sensors_init(struct sensors *sensors, const struct options *options);
void sensors_fini(struct sensors *sensors, struct reader *reader);
void sensors_read(struct proc *proc);
void sensors_list(const struct proc *proc, const struct out *out);

#endif
