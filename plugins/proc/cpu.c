/* SPDX-License-Identifier: MIT */
/*
 * proc/stat: CPU time by state for the host and each core, and the counters that stand beside it.
 * Percentages are shares of the time that the kernel accounted between two readings, so they add up
 * to 100 whatever the clock did. Clock frequencies are in clocks.c.
 */
#include "plugins/proc/proc.h"

#include <unistd.h>

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, GUEST, GUEST_NICE };

void cpu_init(struct cpu *cpu, const struct options *options)
{
    (void)options;
    cpu->stat = (struct source){.path = "proc/stat", .fd = -1};
    cpu->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    slots_init(&cpu->cores, sizeof(struct cpu_core));
}

static void drop_core(void *context, void *item)
{
    struct cpu_core *core = item;
    if (core->clock.path) {
        source_close(&core->clock, context);
    }
}

void cpu_fini(struct cpu *cpu, struct reader *reader)
{
    source_close(&cpu->stat, reader);
    slots_begin(&cpu->cores);
    slots_end(&cpu->cores, drop_core, reader);
    slots_fini(&cpu->cores);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static void parse_times(struct cpu_times *times, struct scan *scan)
{
    times->fields = 0;
    while (times->fields < CPU_STATES && scan_u64(scan, &times->ticks[times->fields])) {
        times->fields++;
    }
}

/* A line "cpu …" or "cpu12 …"; the cursor stands after "cpu". */
static void parse_cpu(struct cpu *cpu, struct scan *scan)
{
    if (scan->at < scan->end && *scan->at == ' ') {
        cpu->before = cpu->now;
        parse_times(&cpu->now, scan);
        return;
    }
    const char *name = scan->at - 3;
    uint64_t number;
    if (!scan_u64(scan, &number)) {
        return;
    }
    struct cpu_core *core = slots_take(&cpu->cores, name, (size_t)(scan->at - name));
    if (core) {
        core->before = core->now;
        parse_times(&core->now, scan);
    }
}

static void parse_number(struct cpu *cpu, struct scan *scan, uint64_t *out, uint32_t line)
{
    if (scan_u64(scan, out)) {
        cpu->seen |= line;
    }
}

static void parse_line(struct cpu *cpu, struct scan *scan)
{
    switch (scan->at < scan->end ? *scan->at : '\0') {
    case 'c':
        if (scan_past(scan, "cpu")) {
            parse_cpu(cpu, scan);
        } else if (scan_past(scan, "ctxt ")) {
            parse_number(cpu, scan, &cpu->context_switches, CPU_LINE_CTXT);
        }
        break;
    case 'i':
        if (scan_past(scan, "intr ")) {
            parse_number(cpu, scan, &cpu->interrupts, CPU_LINE_INTR);
        }
        break;
    case 'b':
        if (scan_past(scan, "btime ")) {
            parse_number(cpu, scan, &cpu->boot_time_s, CPU_LINE_BTIME);
        }
        break;
    case 'p':
        if (scan_past(scan, "processes ")) {
            parse_number(cpu, scan, &cpu->forks, CPU_LINE_PROCESSES);
        } else if (scan_past(scan, "procs_running ")) {
            parse_number(cpu, scan, &cpu->running, CPU_LINE_RUNNING);
        } else if (scan_past(scan, "procs_blocked ")) {
            parse_number(cpu, scan, &cpu->blocked, CPU_LINE_BLOCKED);
        }
        break;
    default: break;
    }
}

void cpu_parse(struct cpu *cpu, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    cpu->interrupts_before = cpu->interrupts;
    cpu->context_switches_before = cpu->context_switches;
    cpu->forks_before = cpu->forks;
    cpu->has_before = cpu->now.fields > 0;
    cpu->seen = 0;
    slots_begin(&cpu->cores);
    for (bool more = length > 0; more; more = scan_next_line(&scan)) {
        parse_line(cpu, &scan);
    }
}

void cpu_read(struct proc *proc)
{
    struct cpu *cpu = &proc->cpu;
    ssize_t length = source_read(&cpu->stat, &proc->reader, 0);
    cpu->error = length < 0 ? (int)length : 0;
    if (length >= 0) {
        cpu_parse(cpu, proc->reader.buffer, (size_t)length);
    } else {
        cpu->now.fields = 0;
        slots_begin(&cpu->cores);
    }
    slots_end(&cpu->cores, drop_core, &proc->reader);
    if (proc->options.frequency) {
        clock_read(proc);
    }
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* What each state grew by. False when there is nothing to say: no time passed, or counters were
 * reset (the core was switched off and on). Idle and iowait may go back a little on some kernels;
 * that is no growth. */
static bool grow(const struct cpu_times *now, const struct cpu_times *before,
                 double shares[CPU_STATES], double *out_total)
{
    *out_total = 0;
    for (uint32_t i = 0; i < now->fields; i++) {
        uint64_t new = now->ticks[i];
        uint64_t old = before->ticks[i];
        if (new < old && i != IDLE &&i != IOWAIT) {
            return false;
        }
        shares[i] = new < old ? 0 : (double)(new - old);
        *out_total += i <= STEAL ? shares[i] : 0;
    }
    /* The kernel counts guests as user time too; shares are told apart so that they add up. */
    if (now->fields > GUEST) {
        shares[USER] = shares[USER] > shares[GUEST] ? shares[USER] - shares[GUEST] : 0;
    }
    if (now->fields > GUEST_NICE) {
        shares[NICE] = shares[NICE] > shares[GUEST_NICE] ? shares[NICE] - shares[GUEST_NICE] : 0;
    }
    return *out_total > 0;
}

static void put_shares(const struct out *out, const struct cpu_times *now,
                       const struct cpu_times *before, bool has_before)
{
    double shares[CPU_STATES] = {0};
    double total = 0;
    bool known = has_before && now->fields == before->fields && now->fields > IDLE &&
                 grow(now, before, shares, &total);
    if (known) {
        out_ratio(out, M_CPU_UTILIZATION, 100 * (total - shares[IDLE] - shares[IOWAIT]) / total);
    } else {
        out_absent(out, M_CPU_UTILIZATION, TACHO_ABSENT_NOT_YET);
    }
    for (uint32_t i = 0; i < CPU_STATES; i++) {
        if (i >= now->fields) {
            out_absent(out, M_CPU_USER + (int32_t)i, TACHO_ABSENT_UNSUPPORTED);
        } else if (known) {
            out_ratio(out, M_CPU_USER + (int32_t)i, 100 * shares[i] / total);
        } else {
            out_absent(out, M_CPU_USER + (int32_t)i, TACHO_ABSENT_NOT_YET);
        }
    }
}

static void put_times(const struct out *out, const struct cpu_times *times, double tick_s)
{
    for (uint32_t i = 0; i < CPU_STATES; i++) {
        if (i < times->fields) {
            out_exact(out, M_CPU_TIME_USER + (int32_t)i, (double)times->ticks[i] * tick_s);
        } else {
            out_absent(out, M_CPU_TIME_USER + (int32_t)i, TACHO_ABSENT_UNSUPPORTED);
        }
    }
}

static void put_clock(const struct out *out, double now, double min, double max)
{
    const double values[] = {now, min, max};
    for (int32_t i = 0; i < 3; i++) {
        if (values[i] > 0) {
            out_ratio(out, M_CPU_FREQUENCY + i, values[i]);
        } else {
            out_absent(out, M_CPU_FREQUENCY + i, TACHO_ABSENT_UNSUPPORTED);
        }
    }
}

static void put_counter(const struct proc *proc, const struct out *out, uint32_t line,
                        int32_t metric, uint64_t now, uint64_t before)
{
    int32_t rate = metric + M_SYSTEM_CONTEXT_SWITCH_RATE - M_SYSTEM_CONTEXT_SWITCHES;
    if (proc->cpu.seen & line) {
        out_count(out, metric, now);
        out_rate(out, rate, now, before, 1, proc->cpu.has_before ? proc->elapsed_s : 0);
    } else {
        int reason = proc->cpu.error ? reason_of(proc->cpu.error) : TACHO_ABSENT_UNSUPPORTED;
        out_absent(out, metric, reason);
        out_absent(out, rate, reason);
    }
}

static void put_number(const struct cpu *cpu, const struct out *out, uint32_t line, int32_t metric,
                       uint64_t value)
{
    if (cpu->seen & line) {
        out_count(out, metric, value);
    } else {
        out_absent(out, metric, cpu->error ? reason_of(cpu->error) : TACHO_ABSENT_UNSUPPORTED);
    }
}

void cpu_host(const struct proc *proc, const struct out *out)
{
    const struct cpu *cpu = &proc->cpu;
    out_count(out, M_CPU_LOGICAL, cpu->cores.count);
    put_number(cpu, out, CPU_LINE_BTIME, M_SYSTEM_BOOT_TIME, cpu->boot_time_s);
    put_counter(proc, out, CPU_LINE_CTXT, M_SYSTEM_CONTEXT_SWITCHES, cpu->context_switches,
                cpu->context_switches_before);
    put_counter(proc, out, CPU_LINE_INTR, M_SYSTEM_INTERRUPTS, cpu->interrupts,
                cpu->interrupts_before);
    put_counter(proc, out, CPU_LINE_PROCESSES, M_SYSTEM_FORKS, cpu->forks, cpu->forks_before);
    put_number(cpu, out, CPU_LINE_RUNNING, M_PROCESSES_RUNNING, cpu->running);
    put_number(cpu, out, CPU_LINE_BLOCKED, M_PROCESSES_BLOCKED, cpu->blocked);
    put_shares(out, &cpu->now, &cpu->before, cpu->has_before);
    put_times(out, &cpu->now, cpu->tick_s);
    if (proc->options.frequency) {
        put_clock(out, cpu->frequency, cpu->frequency_min, cpu->frequency_max);
    }
}

void cpu_list(const struct proc *proc, const struct out *out)
{
    const struct cpu *cpu = &proc->cpu;
    for (uint32_t i = 0; proc->options.per_core && i < cpu->cores.count; i++) {
        const struct cpu_core *core = slots_at(&cpu->cores, i);
        out->host->entity(out->batch, "cpu", core->slot.name, out->root, 0);
        put_shares(out, &core->now, &core->before, !core->slot.fresh);
        put_times(out, &core->now, cpu->tick_s);
        if (proc->options.frequency) {
            put_clock(out, core->frequency, core->frequency_min, core->frequency_max);
        }
    }
}
