/* SPDX-License-Identifier: MIT */
/*
 * Memory and swap from proc/meminfo, paging from proc/vmstat. Of vmstat, which is long, only as
 * much is read as holds the wanted lines.
 */
#include "plugins/proc/proc.h"

#include <errno.h>
#include <unistd.h>

enum {
    MEM_TOTAL,
    MEM_FREE,
    MEM_AVAILABLE,
    BUFFERS,
    CACHED,
    SWAP_CACHED,
    ACTIVE,
    INACTIVE,
    UNEVICTABLE,
    SWAP_TOTAL,
    SWAP_FREE,
    DIRTY,
    WRITEBACK,
    ANON_PAGES,
    MAPPED,
    SHMEM,
    SLAB,
    RECLAIMABLE,
    KERNEL_STACK,
    PAGE_TABLES,
    COMMIT_LIMIT,
    COMMITTED,
    HUGE_TOTAL,
    HUGE_FREE,
    HUGE_RESERVED,
    HUGE_SURPLUS,
    HUGE_SIZE,
    MEMINFO_KEYS
};

static const char *const meminfo_keys[MEMINFO_KEYS] = {
    "MemTotal",       "MemFree",      "MemAvailable",    "Buffers",        "Cached",
    "SwapCached",     "Active",       "Inactive",        "Unevictable",    "SwapTotal",
    "SwapFree",       "Dirty",        "Writeback",       "AnonPages",      "Mapped",
    "Shmem",          "Slab",         "SReclaimable",    "KernelStack",    "PageTables",
    "CommitLimit",    "Committed_AS", "HugePages_Total", "HugePages_Free", "HugePages_Rsvd",
    "HugePages_Surp", "Hugepagesize",
};

/* Lines of meminfo that are published as they are; kB but for the counts of huge pages. */
static const struct {
    int32_t metric;
    uint32_t key;
} plain[] = {
    {M_MEMORY_TOTAL, MEM_TOTAL},
    {M_MEMORY_FREE, MEM_FREE},
    {M_MEMORY_AVAILABLE, MEM_AVAILABLE},
    {M_MEMORY_BUFFERS, BUFFERS},
    {M_MEMORY_CACHED, CACHED},
    {M_MEMORY_SHARED, SHMEM},
    {M_MEMORY_SLAB, SLAB},
    {M_MEMORY_SLAB_RECLAIMABLE, RECLAIMABLE},
    {M_MEMORY_ACTIVE, ACTIVE},
    {M_MEMORY_INACTIVE, INACTIVE},
    {M_MEMORY_DIRTY, DIRTY},
    {M_MEMORY_WRITEBACK, WRITEBACK},
    {M_MEMORY_ANONYMOUS, ANON_PAGES},
    {M_MEMORY_MAPPED, MAPPED},
    {M_MEMORY_PAGE_TABLES, PAGE_TABLES},
    {M_MEMORY_KERNEL_STACK, KERNEL_STACK},
    {M_MEMORY_UNEVICTABLE, UNEVICTABLE},
    {M_MEMORY_COMMITTED, COMMITTED},
    {M_MEMORY_COMMIT_LIMIT, COMMIT_LIMIT},
    {M_HUGEPAGES_POOL, HUGE_TOTAL},
    {M_HUGEPAGES_FREE, HUGE_FREE},
    {M_HUGEPAGES_RESERVED, HUGE_RESERVED},
    {M_HUGEPAGES_SURPLUS, HUGE_SURPLUS},
    {M_HUGEPAGES_SIZE, HUGE_SIZE},
    {M_SWAP_TOTAL, SWAP_TOTAL},
    {M_SWAP_FREE, SWAP_FREE},
    {M_SWAP_CACHED, SWAP_CACHED},
};

enum { PAGE_IN, PAGE_OUT, SWAP_IN, SWAP_OUT, FAULTS, MAJOR_FAULTS, OOM_KILLS };

static const char *const vmstat_keys[VMSTAT_KEYS] = {
    "pgpgin", "pgpgout", "pswpin", "pswpout", "pgfault", "pgmajfault", "oom_kill",
};

enum { VMSTAT_SLACK = 256 }; /* for numbers that grow */

void memory_init(struct memory *memory)
{
    memory->meminfo_file = (struct source){.path = "proc/meminfo", .fd = -1};
    memory->vmstat_file = (struct source){.path = "proc/vmstat", .fd = -1, .flags = SOURCE_RECORDS};
    memory->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    table_init(&memory->meminfo, meminfo_keys, MEMINFO_KEYS, 0);
    table_init(&memory->vmstat, vmstat_keys, VMSTAT_KEYS, 0);
}

void memory_fini(struct memory *memory, struct reader *reader)
{
    source_close(&memory->meminfo_file, reader);
    source_close(&memory->vmstat_file, reader);
}

/* The beginning of vmstat, up to its last whole line; false when a wanted line is not in it. */
static bool read_beginning(struct memory *memory, struct reader *reader)
{
    struct table *table = &memory->vmstat;
    uint64_t wanted = table->found;
    if (!table->lines || !wanted) {
        return false;
    }
    ssize_t length = source_read(&memory->vmstat_file, reader, table->used_bytes + VMSTAT_SLACK);
    const char *last = length > 0 ? memrchr(reader->buffer, '\n', (size_t)length) : NULL;
    if (!last) {
        return false;
    }
    table_parse(table, reader->buffer, (size_t)(last - reader->buffer) + 1);
    return table->found == wanted;
}

static void read_vmstat(struct memory *memory, struct reader *reader)
{
    memcpy(memory->before, memory->vmstat.values, sizeof memory->before);
    memory->before_found = memory->vmstat.found;
    if (read_beginning(memory, reader)) {
        return;
    }
    ssize_t length = source_read(&memory->vmstat_file, reader, 0);
    memory->vmstat_error = length < 0 ? (int)length : 0;
    memory->vmstat.lines = 0;
    table_parse(&memory->vmstat, reader->buffer, length > 0 ? (size_t)length : 0);
}

void memory_read(struct proc *proc)
{
    struct memory *memory = &proc->memory;
    ssize_t length = source_read(&memory->meminfo_file, &proc->reader, 0);
    memory->meminfo_error = length < 0 ? (int)length : 0;
    table_parse(&memory->meminfo, proc->reader.buffer, length > 0 ? (size_t)length : 0);
    memory->total_bytes =
        table_has(&memory->meminfo, MEM_TOTAL) ? memory->meminfo.values[MEM_TOTAL] * 1024 : 0;
    read_vmstat(memory, &proc->reader);
}

/* ---- publishing ------------------------------------------------------------------------------ */

static int missing_reason(int error)
{
    return error ? reason_of(error) : TACHO_ABSENT_UNSUPPORTED;
}

static void put_used(const struct out *out, int32_t used_metric, int32_t share_metric,
                     uint64_t total_kib, uint64_t free_kib)
{
    uint64_t used = total_kib > free_kib ? total_kib - free_kib : 0;
    out_count(out, used_metric, used * 1024);
    if (total_kib) {
        out_ratio(out, share_metric, 100 * (double)used / (double)total_kib);
    } else {
        out_absent(out, share_metric, TACHO_ABSENT_UNSUPPORTED);
    }
}

/* Kernels before 3.14 do not say what is available; free memory and file contents come near. */
static uint64_t available_kib(const struct table *table)
{
    return table_has(table, MEM_AVAILABLE)
               ? table->values[MEM_AVAILABLE]
               : table->values[MEM_FREE] + table->values[BUFFERS] + table->values[CACHED];
}

static void put_meminfo(const struct memory *memory, const struct out *out)
{
    const struct table *table = &memory->meminfo;
    int reason = missing_reason(memory->meminfo_error);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        uint32_t key = plain[i].key;
        bool count = key >= HUGE_TOTAL && key <= HUGE_SURPLUS;
        if (table_has(table, key)) {
            out_count(out, plain[i].metric, table->values[key] * (count ? 1 : 1024));
        } else {
            out_absent(out, plain[i].metric, reason);
        }
    }
    if (table_has(table, MEM_TOTAL) && table_has(table, MEM_FREE)) {
        put_used(out, M_MEMORY_USED, M_MEMORY_UTILIZATION, table->values[MEM_TOTAL],
                 available_kib(table));
    } else {
        out_absent(out, M_MEMORY_USED, reason);
        out_absent(out, M_MEMORY_UTILIZATION, reason);
    }
    if (table_has(table, SWAP_TOTAL) && table_has(table, SWAP_FREE)) {
        put_used(out, M_SWAP_USED, M_SWAP_UTILIZATION, table->values[SWAP_TOTAL],
                 table->values[SWAP_FREE]);
    } else {
        out_absent(out, M_SWAP_USED, reason);
        out_absent(out, M_SWAP_UTILIZATION, reason);
    }
}

static void put_vmstat(const struct proc *proc, const struct out *out, uint32_t key, int32_t metric,
                       int32_t rate_metric, uint64_t scale)
{
    const struct memory *memory = &proc->memory;
    if (!table_has(&memory->vmstat, key)) {
        out_absent(out, metric, missing_reason(memory->vmstat_error));
        out_absent(out, rate_metric, missing_reason(memory->vmstat_error));
        return;
    }
    uint64_t now = memory->vmstat.values[key];
    bool has_before = memory->before_found >> key & 1;
    out_count(out, metric, now * scale);
    out_rate(out, rate_metric, now, memory->before[key], (double)scale,
             has_before ? proc->elapsed_s : 0);
}

void memory_host(const struct proc *proc, const struct out *out)
{
    const struct memory *memory = &proc->memory;
    uint64_t page = memory->page_bytes;
    put_meminfo(memory, out);
    put_vmstat(proc, out, SWAP_IN, M_SWAP_IN, M_SWAP_IN_RATE, page);
    put_vmstat(proc, out, SWAP_OUT, M_SWAP_OUT, M_SWAP_OUT_RATE, page);
    put_vmstat(proc, out, FAULTS, M_PAGING_FAULTS, M_PAGING_FAULT_RATE, 1);
    put_vmstat(proc, out, MAJOR_FAULTS, M_PAGING_MAJOR_FAULTS, M_PAGING_MAJOR_FAULT_RATE, 1);
    put_vmstat(proc, out, PAGE_IN, M_PAGING_IN, M_PAGING_IN_RATE, 1024);
    put_vmstat(proc, out, PAGE_OUT, M_PAGING_OUT, M_PAGING_OUT_RATE, 1024);
    if (table_has(&memory->vmstat, OOM_KILLS)) {
        out_count(out, M_MEMORY_OOM_KILLS, memory->vmstat.values[OOM_KILLS]);
    } else {
        out_absent(out, M_MEMORY_OOM_KILLS, missing_reason(memory->vmstat_error));
    }
}
