/* SPDX-License-Identifier: MIT */
/*
 * Disks from proc/diskstats. Partitions, and devices that are only memory or files (loop, ram), are
 * left out unless asked for.
 */
#include "plugins/proc/proc.h"

#include <stdio.h>
#include <unistd.h>

enum {
    READS,
    READS_MERGED,
    READ_SECTORS,
    READ_MS,
    WRITES,
    WRITES_MERGED,
    WRITTEN_SECTORS,
    WRITE_MS,
    IN_FLIGHT,
    IO_MS,
    WEIGHTED_MS,
    DISCARDS,
    DISCARDS_MERGED,
    DISCARDED_SECTORS,
    DISCARD_MS,
    FLUSHES,
    FLUSH_MS,
};

enum { SECTOR_BYTES = 512 };   /* what the kernel counts in, whatever the disk's own size */
enum { PARTITION_FIELDS = 4 }; /* of a partition before Linux 2.6.25 */

void disks_init(struct disks *disks, const struct options *options)
{
    static const char *const defaults[] = {"loop*", "ram*", "zram*", "fd[0-9]*", "sr[0-9]*"};
    disks->diskstats =
        (struct source){.path = "proc/diskstats", .fd = -1, .flags = SOURCE_SHORT_RECORDS};
    disks->include = options->disks;
    disks->exclude = options->disks_exclude;
    disks->partitions = options->partitions;
    if (!disks->exclude.count && !disks->include.count) {
        disks->exclude = (struct tacho_strings){.items = defaults, .count = TACHO_COUNT(defaults)};
    }
    slots_init(&disks->slots, sizeof(struct disk));
}

void disks_fini(struct disks *disks, struct reader *reader)
{
    source_close(&disks->diskstats, reader);
    slots_fini(&disks->slots);
}

/* Whole disks have a folder of their own in sys/block; '/' in a name is '!' there. Without sys
 * every device counts. */
static bool is_whole(struct reader *reader, const char *name)
{
    char path[SLOT_NAME + 16];
    if (faccessat(reader->root, "sys/block", F_OK, 0) != 0) {
        return true;
    }
    int length = snprintf(path, sizeof path, "sys/block/%s", name);
    for (int i = (int)sizeof "sys/block"; i < length; i++) {
        path[i] = path[i] == '/' ? '!' : path[i];
    }
    return faccessat(reader->root, path, F_OK, 0) == 0;
}

/* "   8       0 sda 12 …": two numbers, the name, then up to 17 numbers. */
static void parse_line(struct disks *disks, struct reader *reader, struct scan *scan)
{
    uint64_t number;
    const char *name;
    size_t length;
    if (!scan_u64(scan, &number) || !scan_u64(scan, &number) || !scan_word(scan, &name, &length)) {
        return;
    }
    struct disk *disk = slots_take(&disks->slots, name, length);
    if (!disk) {
        return;
    }
    if (disk->slot.fresh) {
        disk->slot.wanted = glob_wanted(disk->slot.name, &disks->include, &disks->exclude) &&
                            (disks->partitions || is_whole(reader, disk->slot.name));
    }
    if (!disk->slot.wanted) {
        return;
    }
    memcpy(disk->before, disk->now, sizeof disk->before);
    disk->fields = 0;
    while (disk->fields < DISK_FIELDS && scan_u64(scan, &disk->now[disk->fields])) {
        disk->fields++;
    }
}

void disks_parse(struct disks *disks, struct reader *reader, const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    slots_begin(&disks->slots);
    for (bool more = length > 0; more; more = scan_next_line(&scan)) {
        parse_line(disks, reader, &scan);
    }
    slots_end(&disks->slots, NULL, NULL);
}

void disks_read(struct proc *proc)
{
    ssize_t length = source_read(&proc->disks.diskstats, &proc->reader, 0);
    disks_parse(&proc->disks, &proc->reader, proc->reader.buffer, length < 0 ? 0 : (size_t)length);
}

/* ---- publishing ------------------------------------------------------------------------------ */

/* Field and metric, in the order of both. */
static void put_field(const struct disk *disk, const struct out *out, uint32_t field)
{
    int32_t metric = M_DISK_READS + (int32_t)field;
    if (field >= disk->fields) {
        out_absent(out, metric, TACHO_ABSENT_UNSUPPORTED);
        return;
    }
    uint64_t value = disk->now[field];
    switch (field) {
    case READ_SECTORS:
    case WRITTEN_SECTORS:
    case DISCARDED_SECTORS: out_count(out, metric, value * SECTOR_BYTES); break;
    case READ_MS:
    case WRITE_MS:
    case IO_MS:
    case WEIGHTED_MS:
    case DISCARD_MS:
    case FLUSH_MS: out_exact(out, metric, (double)value / 1000); break;
    default: out_count(out, metric, value); break;
    }
}

/* A disk that was replaced under the same name begins again: then none of its rates is known. */
static bool was_reset(const struct disk *disk)
{
    static const uint8_t growing[] = {READS, READ_SECTORS, WRITES, WRITTEN_SECTORS, IO_MS};
    for (size_t i = 0; i < sizeof growing; i++) {
        if (disk->now[growing[i]] < disk->before[growing[i]]) {
            return true;
        }
    }
    return false;
}

static void put_rates(const struct disk *disk, const struct out *out, double elapsed_s)
{
    static const struct {
        int32_t metric;
        uint32_t field;
        double scale;
    } rates[] = {
        {M_DISK_READ_RATE, READ_SECTORS, SECTOR_BYTES},
        {M_DISK_WRITE_RATE, WRITTEN_SECTORS, SECTOR_BYTES},
        {M_DISK_READ_OPERATIONS, READS, 1},
        {M_DISK_WRITE_OPERATIONS, WRITES, 1},
    };
    if (disk->slot.fresh || was_reset(disk)) {
        elapsed_s = 0;
    }
    if (elapsed_s > 0) {
        double busy = (double)(disk->now[IO_MS] - disk->before[IO_MS]) / 10 / elapsed_s;
        out_ratio(out, M_DISK_UTILIZATION, busy < 100 ? busy : 100);
    } else {
        out_absent(out, M_DISK_UTILIZATION, TACHO_ABSENT_NOT_YET);
    }
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        uint32_t field = rates[i].field;
        out_rate(out, rates[i].metric, disk->now[field], disk->before[field], rates[i].scale,
                 elapsed_s);
    }
}

void disks_list(const struct proc *proc, const struct out *out)
{
    const struct slots *slots = &proc->disks.slots;
    for (uint32_t i = 0; i < slots->count; i++) {
        const struct disk *disk = slots_at(slots, i);
        if (!disk->slot.wanted || disk->fields <= PARTITION_FIELDS) {
            continue;
        }
        out->host->entity(out->batch, "disk", disk->slot.name, out->root, 0);
        for (uint32_t field = 0; field < DISK_FIELDS; field++) {
            put_field(disk, out, field);
        }
        put_rates(disk, out, proc->elapsed_s);
    }
}
