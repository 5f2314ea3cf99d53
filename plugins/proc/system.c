/* SPDX-License-Identifier: MIT */
/*
 * Load and uptime in each tick; who the machine is (OS, kernel, CPU model, sockets, hypervisor)
 * rarely, as none of that changes from one second to the next.
 */
#include "plugins/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

void system_init(struct system *system)
{
    system->loadavg = (struct source){.path = "proc/loadavg", .fd = -1};
    system->uptime = (struct source){.path = "proc/uptime", .fd = -1};
}

void system_fini(struct system *system, struct reader *reader)
{
    source_close(&system->loadavg, reader);
    source_close(&system->uptime, reader);
}

/* ---- each tick ------------------------------------------------------------------------------- */

/* "0.00 0.01 0.05 2/1054 14542" */
static bool parse_load(struct system *system, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    uint64_t running;
    for (int i = 0; i < 3; i++) {
        if (!scan_decimal(&scan, &system->load[i])) {
            return false;
        }
    }
    system->has_threads =
        scan_u64(&scan, &running) && scan_past(&scan, "/") && scan_u64(&scan, &system->threads);
    return true;
}

void system_read(struct proc *proc)
{
    struct system *system = &proc->system;
    struct reader *reader = &proc->reader;
    ssize_t length = source_read(&system->loadavg, reader, 0);
    system->has_threads = false;
    system->load_error = length < 0 ? (int)length : 0;
    if (length >= 0 && !parse_load(system, reader->buffer, (size_t)length)) {
        system->load_error = -EIO;
    }
    length = source_read(&system->uptime, reader, 0);
    system->uptime_error = length < 0 ? (int)length : 0;
    struct scan scan = scan_text(reader->buffer, length < 0 ? 0 : (size_t)length);
    if (length >= 0 && !scan_decimal(&scan, &system->uptime_s)) {
        system->uptime_error = -EIO;
    }
}

/* ---- rarely ---------------------------------------------------------------------------------- */

struct topology {
    struct reader *reader;
    struct cpuinfo_ids ids;
};

static void add_cpu(void *context, const char *name)
{
    struct topology *topology = context;
    char path[96];
    int64_t package;
    int64_t core;
    if (strncmp(name, "cpu", 3) != 0 || (unsigned)(name[3] - '0') > 9) {
        return;
    }
    (void)snprintf(path, sizeof path, "sys/devices/system/cpu/%.16s/topology/core_id", name);
    if (!reader_number(topology->reader, path, &core)) {
        return;
    }
    (void)snprintf(path, sizeof path, "sys/devices/system/cpu/%.16s/topology/physical_package_id",
                   name);
    /* Some ARM machines have no number for the package, or -1. */
    if (!reader_number(topology->reader, path, &package) || package < 0) {
        package = 0;
    }
    cpuinfo_ids_add(&topology->ids, (uint32_t)package, (uint32_t)core);
}

/* Counts the different pairs of package and core by the kernel's topology files. */
static bool count_topology(struct reader *reader, struct system *system)
{
    struct topology topology = {.reader = reader};
    (void)reader_list(reader, "sys/devices/system/cpu", add_cpu, &topology);
    if (topology.ids.count) {
        cpuinfo_ids_count(&topology.ids, &system->sockets, &system->cores);
    }
    return topology.ids.count > 0;
}

static void read_cpuinfo(struct proc *proc)
{
    struct system *system = &proc->system;
    struct cpuinfo info = {0};
    ssize_t length = reader_once(&proc->reader, "proc/cpuinfo");
    if (length > 0) {
        cpuinfo_parse(&info, proc->reader.buffer, (size_t)length);
    }
    memcpy(system->model, info.model, sizeof system->model);
    memcpy(system->vendor, info.vendor, sizeof system->vendor);
    system->frequency = info.frequency;
    system->frequency_measured = info.measured;
    system->sockets = info.sockets;
    system->cores = info.cores;
    if (!count_topology(&proc->reader, system)) {
        system->sockets = info.sockets;
        system->cores = info.cores;
    }
    (void)snprintf(system->virtualization, sizeof system->virtualization, "%s",
                   info.hypervisor ? "vm" : "none");
}

/* What the firmware calls the machine, where that tells the hypervisor. */
static void read_virtualization(struct proc *proc)
{
    static const struct {
        const char *text, *name;
    } vendors[] = {{"QEMU", "qemu"},
                   {"KVM", "kvm"},
                   {"VMware", "vmware"},
                   {"innotek", "virtualbox"},
                   {"Xen", "xen"},
                   {"Amazon EC2", "amazon"},
                   {"Google", "google"},
                   {"Microsoft Corporation", "hyperv"},
                   {"Parallels", "parallels"},
                   {"OpenStack", "openstack"}};
    struct system *system = &proc->system;
    char text[64];
    if (strcmp(system->virtualization, "vm") == 0 &&
        reader_line(&proc->reader, "sys/class/dmi/id/sys_vendor", text, sizeof text)) {
        for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++) {
            if (strstr(text, vendors[i].text)) {
                (void)snprintf(system->virtualization, sizeof system->virtualization, "%s",
                               vendors[i].name);
                return;
            }
        }
    }
    if (reader_line(&proc->reader, "sys/hypervisor/type", text, sizeof text)) {
        (void)snprintf(system->virtualization, sizeof system->virtualization, "%.31s", text);
    }
    if (!*proc->options.root && faccessat(proc->reader.root, ".dockerenv", F_OK, 0) == 0) {
        (void)snprintf(system->virtualization, sizeof system->virtualization, "docker");
    }
}

void os_release_parse(const char *text, size_t length, char *out, size_t size)
{
    struct scan scan = scan_text(text, length);
    struct scan line;
    out[0] = '\0';
    while (scan_take_line(&scan, &line)) {
        if (scan_past(&line, "PRETTY_NAME=")) {
            if (line.end - line.at >= 2 && (*line.at == '"' || *line.at == '\'')) {
                line.at++;
                line.end -= line.end[-1] == line.at[-1];
            }
            scan_copy(out, size, line.at, (size_t)(line.end - line.at));
            return;
        }
    }
}

void system_identify(struct proc *proc)
{
    struct system *system = &proc->system;
    struct reader *reader = &proc->reader;
    struct utsname names;
    read_cpuinfo(proc);
    read_virtualization(proc);
    ssize_t length = reader_once(reader, "etc/os-release");
    if (length < 0) {
        length = reader_once(reader, "usr/lib/os-release");
    }
    os_release_parse(reader->buffer, length > 0 ? (size_t)length : 0, system->os,
                     sizeof system->os);
    if (uname(&names) != 0) {
        return;
    }
    (void)snprintf(system->architecture, sizeof system->architecture, "%.64s", names.machine);
    if (!reader_line(reader, "proc/sys/kernel/osrelease", system->kernel, sizeof system->kernel)) {
        (void)snprintf(system->kernel, sizeof system->kernel, "%.64s", names.release);
    }
    /* Inside a container uname tells the container's name; the host's own stands in a file. */
    if (!*proc->options.root ||
        !reader_line(reader, "etc/hostname", system->hostname, sizeof system->hostname)) {
        (void)snprintf(system->hostname, sizeof system->hostname, "%.64s", names.nodename);
    }
}

/* ---- publishing ------------------------------------------------------------------------------ */

static void put_text(const struct out *out, int32_t metric, const char *text)
{
    if (*text) {
        out->host->text(out->batch, metric, text);
    } else {
        out_absent(out, metric, TACHO_ABSENT_UNSUPPORTED);
    }
}

static void put_known(const struct out *out, int32_t metric, uint32_t number)
{
    if (number) {
        out_count(out, metric, number);
    } else {
        out_absent(out, metric, TACHO_ABSENT_UNSUPPORTED);
    }
}

void system_host(const struct proc *proc, const struct out *out)
{
    const struct system *system = &proc->system;
    put_text(out, M_SYSTEM_HOSTNAME, system->hostname);
    put_text(out, M_SYSTEM_OS, system->os);
    put_text(out, M_SYSTEM_KERNEL, system->kernel);
    put_text(out, M_SYSTEM_ARCHITECTURE, system->architecture);
    put_text(out, M_SYSTEM_VIRTUALIZATION, system->virtualization);
    put_text(out, M_CPU_MODEL, system->model);
    put_text(out, M_CPU_VENDOR, system->vendor);
    put_known(out, M_CPU_SOCKETS, system->sockets);
    put_known(out, M_CPU_CORES, system->cores);
    if (system->uptime_error) {
        out_absent(out, M_SYSTEM_UPTIME, reason_of(system->uptime_error));
    } else {
        out_exact(out, M_SYSTEM_UPTIME, system->uptime_s);
    }
    for (int32_t i = 0; i < 3; i++) {
        if (system->load_error) {
            out_absent(out, M_LOAD_1 + i, reason_of(system->load_error));
        } else {
            out_exact(out, M_LOAD_1 + i, system->load[i]);
        }
    }
    if (system->has_threads) {
        out_count(out, M_PROCESSES_THREADS, system->threads);
    } else {
        out_absent(out, M_PROCESSES_THREADS,
                   system->load_error ? reason_of(system->load_error) : TACHO_ABSENT_UNSUPPORTED);
    }
}
