/* SPDX-License-Identifier: MIT */
/*
 * The walk over proc/PID/stat: how many processes are in which state, and the busiest of them. The
 * kernel lists processes in order of their numbers, so the list of this reading and that of the
 * last are merged side by side, without a look-up. As many stat files as the reader allows stay
 * open, which saves finding them by name each time; a process that ended, even if its number was
 * given away again, then answers ESRCH.
 */
#include "plugins/proc/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_SIZE = 128, PROCESS_LIMIT = 1 << 20, STAT_BYTES = 2048 };

int processes_init(struct processes *processes, const struct options *options)
{
    processes->limit = (uint32_t)options->processes;
    processes->folder = -1;
    processes->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    processes->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    if (processes->limit) {
        processes->top = calloc(processes->limit + 1, sizeof *processes->top);
        return processes->top ? 0 : -ENOMEM;
    }
    return 0;
}

static void forget(struct process *process, struct reader *reader)
{
    if (process->fd >= 0) {
        (void)close(process->fd);
        process->fd = -1;
        reader->open_left++;
    }
}

void processes_fini(struct processes *processes, struct reader *reader)
{
    for (uint32_t i = 0; i < processes->now_count; i++) {
        forget(&processes->now[i], reader);
    }
    if (processes->folder >= 0) {
        (void)close(processes->folder);
    }
    free(processes->pids);
    free(processes->old);
    free(processes->now);
    free(processes->top);
    free(processes->users);
}

/* ---- listing --------------------------------------------------------------------------------- */

/* Room for one more in all three lists. */
static bool make_room(struct processes *processes)
{
    if (processes->pid_count < processes->size) {
        return true;
    }
    uint32_t size = processes->size ? processes->size * 2 : FIRST_SIZE;
    if (size > PROCESS_LIMIT) {
        return false;
    }
    int32_t *pids = realloc(processes->pids, size * sizeof *pids);
    processes->pids = pids ? pids : processes->pids;
    struct process *old = realloc(processes->old, size * sizeof *old);
    processes->old = old ? old : processes->old;
    struct process *now = realloc(processes->now, size * sizeof *now);
    processes->now = now ? now : processes->now;
    if (!pids || !old || !now) {
        return false;
    }
    processes->size = size;
    return true;
}

static void add_pid(struct processes *processes, const char *name, bool *sorted)
{
    int32_t pid = 0;
    for (; (unsigned)(*name - '0') <= 9 && pid < INT32_MAX / 10 - 1; name++) {
        pid = pid * 10 + (*name - '0');
    }
    if (*name || pid == 0 || !make_room(processes)) {
        return;
    }
    if (processes->pid_count && processes->pids[processes->pid_count - 1] > pid) {
        *sorted = false;
    }
    processes->pids[processes->pid_count++] = pid;
}

static int compare_pids(const void *left, const void *right)
{
    int32_t a = *(const int32_t *)left;
    int32_t b = *(const int32_t *)right;
    return a < b ? -1 : a > b;
}

static int list_pids(struct processes *processes, struct reader *reader)
{
    bool sorted = true;
    processes->pid_count = 0;
    if (processes->folder < 0) {
        processes->folder = openat(reader->root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    if (processes->folder < 0 || lseek(processes->folder, 0, SEEK_SET) < 0) {
        return -errno;
    }
    for (;;) {
        ssize_t got = getdents64(processes->folder, reader->buffer, reader->size);
        if (got <= 0) {
            if (!sorted) {
                qsort(processes->pids, processes->pid_count, sizeof(int32_t), compare_pids);
            }
            return got < 0 ? -errno : 0;
        }
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(reader->buffer + at);
            if ((unsigned)(entry->d_name[0] - '0') <= 9) {
                add_pid(processes, entry->d_name, &sorted);
            }
            at += entry->d_reclen;
        }
    }
}

/* ---- one process ----------------------------------------------------------------------------- */

static bool skip_fields(struct scan *scan, int count)
{
    const char *at = scan->at;
    while (count > 0 && at < scan->end) {
        at = memchr(at, ' ', (size_t)(scan->end - at));
        if (!at) {
            return false;
        }
        at++;
        count--;
    }
    scan->at = at;
    return count == 0;
}

/* "123 (name) S 1 …". The name may hold anything, so it ends at the last parenthesis. */
bool process_parse(struct process_stat *stat, const char *text, size_t length)
{
    const char *open = memchr(text, '(', length);
    const char *close = memrchr(text, ')', length);
    uint64_t user;
    uint64_t system;
    if (!open || !close || close < open || text + length - close < 4) {
        return false;
    }
    stat->name = open + 1;
    stat->name_length = (size_t)(close - open - 1);
    stat->state = close[2];
    struct scan scan = {.at = close + 4, .end = text + length};
    /* Fields are numbered from 1; the scan stands at 4, the parent's number. */
    if (!skip_fields(&scan, 10) || !scan_u64(&scan, &user) || !scan_u64(&scan, &system) ||
        !skip_fields(&scan, 5) || !scan_u64(&scan, &stat->threads) || !skip_fields(&scan, 2) ||
        !scan_u64(&scan, &stat->start_ticks) || !scan_u64(&scan, &stat->virtual_bytes) ||
        !scan_u64(&scan, &stat->resident_pages)) {
        return false;
    }
    stat->cpu_ticks = user + system;
    return true;
}

/* proc/PID/stat as seen from the folder; returns its end. */
static void write_path(char path[24], int32_t pid)
{
    char digits[12];
    size_t count = 0;
    for (; pid > 0; pid /= 10) {
        digits[count++] = (char)('0' + pid % 10);
    }
    while (count > 0) {
        *path++ = digits[--count];
    }
    memcpy(path, "/stat", 6);
}

/* The text of the process's stat file; 0 when the process is gone. A kept descriptor that no longer
 * answers belongs to an earlier process of this number. */
static size_t read_stat(struct processes *processes, struct reader *reader, struct process *process)
{
    if (process->fd >= 0) {
        ssize_t got = pread(process->fd, reader->buffer, STAT_BYTES, 0);
        if (got > 0) {
            return (size_t)got;
        }
        forget(process, reader);
    }
    char path[24];
    write_path(path, process->pid);
    int fd = openat(processes->folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t got = read(fd, reader->buffer, STAT_BYTES);
    if (reader->open_left > 0 && got > 0) {
        reader->open_left--;
        process->fd = fd;
    } else {
        (void)close(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

/* Busier first; among equals the one with more memory, then the older number. */
static bool is_before(const struct process_top *a, const struct process_top *b)
{
    if (a->used_ticks != b->used_ticks) {
        return a->used_ticks > b->used_ticks;
    }
    if (a->stat.resident_pages != b->stat.resident_pages) {
        return a->stat.resident_pages > b->stat.resident_pages;
    }
    return a->pid < b->pid;
}

static void enter_top(struct processes *processes, const struct process_top *candidate)
{
    struct process_top *top = processes->top;
    uint32_t at = processes->top_count;
    if (at == processes->limit && !is_before(candidate, &top[at - 1])) {
        return;
    }
    processes->top_count += at < processes->limit;
    for (; at > 0 && is_before(candidate, &top[at - 1]); at--) {
        top[at] = top[at - 1];
    }
    top[at] = *candidate;
    scan_copy(top[at].name, sizeof top[at].name, candidate->stat.name, candidate->stat.name_length);
}

static void count_state(struct processes *processes, char state)
{
    processes->total++;
    switch (state) {
    case 'S':
    case 'I': processes->sleeping++; break;
    case 'T':
    case 't': processes->stopped++; break;
    case 'Z': processes->zombie++; break;
    default: break;
    }
}

/* Reads one process; `process` holds what is known from the last reading, or only its number. */
static bool visit(struct processes *processes, struct reader *reader, struct process *process,
                  bool known)
{
    struct process_top candidate = {.pid = process->pid};
    size_t length = read_stat(processes, reader, process);
    if (!length || !process_parse(&candidate.stat, reader->buffer, length)) {
        forget(process, reader);
        return false;
    }
    const struct process_stat *stat = &candidate.stat;
    candidate.fresh = !known || process->start_ticks != stat->start_ticks;
    if (!candidate.fresh && stat->cpu_ticks > process->cpu_ticks) {
        candidate.used_ticks = stat->cpu_ticks - process->cpu_ticks;
    }
    process->start_ticks = stat->start_ticks;
    process->cpu_ticks = stat->cpu_ticks;
    count_state(processes, stat->state);
    enter_top(processes, &candidate);
    return true;
}

void processes_read(struct proc *proc)
{
    struct processes *processes = &proc->processes;
    struct reader *reader = &proc->reader;
    if (!processes->limit) {
        return;
    }
    processes->total = processes->sleeping = processes->stopped = processes->zombie = 0;
    processes->top_count = 0;
    processes->error = list_pids(processes, reader);

    struct process *old = processes->now;
    uint32_t old_count = processes->now_count;
    struct process *now = processes->old;
    uint32_t count = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < processes->pid_count; i++) {
        int32_t pid = processes->pids[i];
        while (at < old_count && old[at].pid < pid) {
            forget(&old[at++], reader);
        }
        bool known = at < old_count && old[at].pid == pid;
        now[count] = known ? old[at++] : (struct process){.pid = pid, .fd = -1};
        count += visit(processes, reader, &now[count], known);
    }
    while (at < old_count) {
        forget(&old[at++], reader);
    }
    processes->now = now;
    processes->now_count = count;
    processes->old = old;
}

/* ---- publishing ------------------------------------------------------------------------------ */

void processes_host(const struct proc *proc, const struct out *out)
{
    const struct processes *processes = &proc->processes;
    const uint32_t counts[] = {processes->total, processes->sleeping, processes->stopped,
                               processes->zombie};
    for (int32_t i = 0; processes->limit && i < 4; i++) {
        if (processes->error) {
            out_absent(out, M_PROCESSES_COUNT + i, reason_of(processes->error));
        } else {
            out_count(out, M_PROCESSES_COUNT + i, counts[i]);
        }
    }
}

static const char *state_name(char state)
{
    switch (state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "disk_sleep";
    case 'T': return "stopped";
    case 't': return "tracing";
    case 'Z': return "zombie";
    case 'X':
    case 'x': return "dead";
    case 'I': return "idle";
    case 'P': return "parked";
    default: return "unknown";
    }
}

/* Digits of a number, ended by NUL; returns the end. */
static char *write_number(char *out, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0) {
        *out++ = digits[--count];
    }
    *out = '\0';
    return out;
}

static void put_labels(const struct processes *processes, const struct out *out,
                       const struct process_top *top)
{
    char key[48];
    char pid[16];
    char number[12];
    struct stat status;
    char *end = write_number(key, (uint64_t)top->pid);
    *end++ = ':';
    (void)write_number(end, top->stat.start_ticks);
    (void)write_number(pid, (uint64_t)top->pid);
    out->host->entity(out->batch, "process", key, out->root, TACHO_VOLATILE);
    out->host->label(out->batch, "pid", pid);
    /* The folder belongs to the user that the process acts as now. */
    bool known = fstatat(processes->folder, pid, &status, 0) == 0;
    out->host->label(out->batch, "user",
                     known ? users_find(processes, status.st_uid, number) : "unknown");
    out->host->label(out->batch, "command", top->name);
}

void processes_list(const struct proc *proc, const struct out *out)
{
    const struct processes *processes = &proc->processes;
    double total = (double)proc->memory.total_bytes;
    for (uint32_t i = 0; i < processes->top_count; i++) {
        const struct process_top *top = &processes->top[i];
        double resident = (double)(top->stat.resident_pages * processes->page_bytes);
        put_labels(processes, out, top);
        if (top->fresh || proc->elapsed_s <= 0) {
            out_absent(out, M_PROCESS_CPU, TACHO_ABSENT_NOT_YET);
        } else {
            out_ratio(out, M_PROCESS_CPU,
                      100 * (double)top->used_ticks * processes->tick_s / proc->elapsed_s);
        }
        out_exact(out, M_PROCESS_CPU_TIME, (double)top->stat.cpu_ticks * processes->tick_s);
        out_count(out, M_PROCESS_MEMORY, top->stat.resident_pages * processes->page_bytes);
        if (total > 0) {
            out_ratio(out, M_PROCESS_MEMORY_UTILIZATION, 100 * resident / total);
        } else {
            out_absent(out, M_PROCESS_MEMORY_UTILIZATION, TACHO_ABSENT_ERROR);
        }
        out_count(out, M_PROCESS_VIRTUAL_MEMORY, top->stat.virtual_bytes);
        out_count(out, M_PROCESS_THREADS, top->stat.threads);
        out->host->text(out->batch, M_PROCESS_STATE, state_name(top->stat.state));
    }
}
