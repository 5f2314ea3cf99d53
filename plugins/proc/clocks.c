/* SPDX-License-Identifier: MIT */
/*
 * Clock frequencies: cpufreq where the kernel has it, one file for each core. Without it, what
 * proc/cpuinfo says; that is dear to read (about 10 µs for each CPU) and constant unless the CPU
 * counts its cycles (flag aperfmperf), so it is read again in each tick only then.
 */
#include "plugins/proc/proc.h"

#include <stdio.h>

static double read_kilohertz(struct reader *reader, const char *core, const char *file)
{
    char path[112];
    int64_t number = 0;
    (void)snprintf(path, sizeof path, "sys/devices/system/cpu/%s/cpufreq/%s", core, file);
    return reader_number(reader, path, &number) && number > 0 ? (double)number * 1000 : 0;
}

static void find_clock(struct cpu_core *core, struct reader *reader)
{
    (void)snprintf(core->clock_path, sizeof core->clock_path,
                   "sys/devices/system/cpu/%.16s/cpufreq/scaling_cur_freq", core->slot.name);
    core->clock = (struct source){.path = "", .fd = -1};
    core->frequency_min = read_kilohertz(reader, core->slot.name, "cpuinfo_min_freq");
    core->frequency_max = read_kilohertz(reader, core->slot.name, "cpuinfo_max_freq");
}

static double read_clock(struct cpu_core *core, struct reader *reader)
{
    core->clock.path = core->clock_path; /* the core may have moved in its array */
    ssize_t length = source_read(&core->clock, reader, 0);
    uint64_t kilohertz = 0;
    if (length > 0) {
        struct scan scan = scan_text(reader->buffer, (size_t)length);
        (void)scan_u64(&scan, &kilohertz);
    }
    return (double)kilohertz * 1000;
}

/* Without cpufreq every core is said to run at what proc/cpuinfo tells. */
static double fallback_clock(struct proc *proc)
{
    struct cpuinfo info;
    if (!proc->system.frequency_measured) {
        return proc->system.frequency;
    }
    ssize_t length = reader_once(&proc->reader, "proc/cpuinfo");
    if (length <= 0) {
        return 0;
    }
    cpuinfo_parse(&info, proc->reader.buffer, (size_t)length);
    return info.frequency;
}

static void summarise(struct cpu *cpu)
{
    double sum = 0;
    uint32_t known = 0;
    cpu->frequency = cpu->frequency_min = cpu->frequency_max = 0;
    for (uint32_t i = 0; i < cpu->cores.count; i++) {
        const struct cpu_core *core = slots_at(&cpu->cores, i);
        sum += core->frequency;
        known += core->frequency > 0;
        if (core->frequency_min > 0 &&
            (cpu->frequency_min <= 0 || core->frequency_min < cpu->frequency_min)) {
            cpu->frequency_min = core->frequency_min;
        }
        if (core->frequency_max > cpu->frequency_max) {
            cpu->frequency_max = core->frequency_max;
        }
    }
    if (known) {
        cpu->frequency = sum / known;
    }
}

void clock_read(struct proc *proc)
{
    struct cpu *cpu = &proc->cpu;
    bool any = false;
    for (uint32_t i = 0; i < cpu->cores.count; i++) {
        struct cpu_core *core = slots_at(&cpu->cores, i);
        if (core->slot.fresh) {
            find_clock(core, &proc->reader);
        }
        core->frequency = read_clock(core, &proc->reader);
        any = any || core->frequency > 0;
    }
    summarise(cpu);
    if (!any) {
        cpu->frequency = fallback_clock(proc);
    }
}
