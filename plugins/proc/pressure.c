/* SPDX-License-Identifier: MIT */
/*
 * Pressure stall information: proc/pressure/{cpu,memory,io,irq}, each with a line "some" and, but
 * for cpu before Linux 5.13, a line "full"; irq has only "full".
 */
#include "plugins/proc/proc.h"

#include <errno.h>

enum { SOME, FULL };
enum { CPU_FILE, MEMORY_FILE, IO_FILE, IRQ_FILE };

/* The first metric (avg10) of each line. */
static const struct {
    int file, line;
    int32_t metric;
} lines[PRESSURE_LINES] = {
    {CPU_FILE, SOME, M_PRESSURE_CPU_SOME_AVG10},
    {CPU_FILE, FULL, M_PRESSURE_CPU_FULL_AVG10},
    {MEMORY_FILE, SOME, M_PRESSURE_MEMORY_SOME_AVG10},
    {MEMORY_FILE, FULL, M_PRESSURE_MEMORY_FULL_AVG10},
    {IO_FILE, SOME, M_PRESSURE_IO_SOME_AVG10},
    {IO_FILE, FULL, M_PRESSURE_IO_FULL_AVG10},
    {IRQ_FILE, FULL, M_PRESSURE_IRQ_FULL_AVG10},
};

void pressure_init(struct pressure *pressure, const struct options *options)
{
    static const char *const paths[PRESSURE_FILES] = {"proc/pressure/cpu", "proc/pressure/memory",
                                                      "proc/pressure/io", "proc/pressure/irq"};
    pressure->enabled = options->pressure;
    for (int i = 0; i < PRESSURE_FILES; i++) {
        pressure->files[i] = (struct source){.path = paths[i], .fd = -1};
    }
}

void pressure_fini(struct pressure *pressure, struct reader *reader)
{
    for (int i = 0; i < PRESSURE_FILES; i++) {
        source_close(&pressure->files[i], reader);
    }
}

/* "avg10=0.00 avg60=0.12 avg300=0.05 total=12345" */
static bool parse_line(struct pressure_line *line, struct scan *scan)
{
    static const char *const names[] = {"avg10=", "avg60=", "avg300="};
    for (int i = 0; i < 3; i++) {
        scan_blanks(scan);
        if (!scan_past(scan, names[i]) || !scan_decimal(scan, &line->average[i])) {
            return false;
        }
    }
    scan_blanks(scan);
    return scan_past(scan, "total=") && scan_u64(scan, &line->total_us);
}

void pressure_parse(struct pressure_line out[2], const char *text, size_t length)
{
    struct scan scan = scan_text(text, length);
    out[SOME].found = out[FULL].found = false;
    for (bool more = length > 0; more; more = scan_next_line(&scan)) {
        if (scan_past(&scan, "some ")) {
            out[SOME].found = parse_line(&out[SOME], &scan);
        } else if (scan_past(&scan, "full ")) {
            out[FULL].found = parse_line(&out[FULL], &scan);
        }
    }
}

void pressure_read(struct proc *proc)
{
    struct pressure *pressure = &proc->pressure;
    for (int i = 0; pressure->enabled && i < PRESSURE_FILES; i++) {
        ssize_t length = source_read(&pressure->files[i], &proc->reader, 0);
        pressure->errors[i] = length < 0 ? (int)length : 0;
        pressure_parse(pressure->lines[i], proc->reader.buffer, length < 0 ? 0 : (size_t)length);
    }
}

void pressure_host(const struct proc *proc, const struct out *out)
{
    const struct pressure *pressure = &proc->pressure;
    for (int i = 0; pressure->enabled && i < PRESSURE_LINES; i++) {
        const struct pressure_line *line = &pressure->lines[lines[i].file][lines[i].line];
        int error = pressure->errors[lines[i].file];
        /* With psi=0 on the kernel's command line the files are there but reading is refused. */
        int reason = error == -EOPNOTSUPP || !error ? TACHO_ABSENT_UNSUPPORTED : reason_of(error);
        for (int32_t k = 0; k < 4; k++) {
            if (!line->found) {
                out_absent(out, lines[i].metric + k, reason);
            } else if (k < 3) {
                out_exact(out, lines[i].metric + k, line->average[k]);
            } else {
                out_exact(out, lines[i].metric + k, (double)line->total_us / 1e6);
            }
        }
    }
}
