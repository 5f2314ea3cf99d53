/* SPDX-License-Identifier: MIT */
/* One run of the program for one reading: all its lines make one batch. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "plugins/exec/exec.h"

/* How often the end is looked for while somebody else holds the program's output open. */
#define LOOK_NS (50 * EXEC_NS_PER_MS)

struct run {
    struct exec *exec;
    struct exec_record record;
    uint64_t bad_lines;
    struct tacho_err first; /* what is wrong with the first of them */
};

static void on_line(void *context, uint64_t number, const char *text, size_t length)
{
    struct run *run = context;
    int result = text ? exec_record_line(&run->record, number, text, length, &run->first)
                      : tacho_fail(&run->first, TACHO_RETRY,
                                   "line %" PRIu64 ": longer than max_line (%" PRId64 " bytes)",
                                   number, run->exec->options->max_line_bytes);
    run->bad_lines += result != TACHO_OK;
}

/* When a run has to be over: its own limit, or early enough before the deadline to end it. */
static int64_t limit_of(const struct exec *exec, int64_t deadline_ns)
{
    int64_t now = exec->host->mono_ns();
    int64_t limit = now + exec->options->timeout_ns;
    int64_t room = now + (deadline_ns - now) * 8 / 10;
    return deadline_ns > now && room < limit ? room : limit;
}

static enum exec_wait wait_end(struct exec *exec, struct exec_child *child, int64_t limit_ns,
                               bool *out_flooded)
{
    *out_flooded = false;
    for (;;) {
        int64_t now = exec->host->mono_ns();
        if (now >= limit_ns) {
            return EXEC_LATE;
        }
        enum exec_wait wait =
            exec_pump(exec, child, now + LOOK_NS < limit_ns ? now + LOOK_NS : limit_ns);
        if (wait == EXEC_ENDED || wait == EXEC_WOKEN) {
            return wait;
        }
        if (exec->out.bytes > (uint64_t)exec->options->max_output_bytes) {
            *out_flooded = true;
            return EXEC_READY;
        }
    }
}

static int fail_status(const struct exec *exec, int status, struct tacho_err *err)
{
    char text[64];
    return tacho_fail(err, TACHO_RETRY, "%.100s ended with %s%s%s", exec->options->command.items[0],
                      exec_child_status(status, text, sizeof text), exec->complaint[0] ? ": " : "",
                      exec->complaint);
}

static int fail_bad(const struct run *run, uint64_t values, struct tacho_err *err)
{
    char more[48] = "";
    if (run->bad_lines > 1) {
        (void)snprintf(more, sizeof more, " (and %" PRIu64 " more such)", run->bad_lines - 1);
    }
    return tacho_fail(err, values ? TACHO_PARTIAL : TACHO_RETRY, "%.100s: %.220s%s",
                      run->exec->options->command.items[0], run->first.text, more);
}

/* What a run came to, as a result. */
static int judge(const struct run *run, enum exec_wait wait, bool flooded, int status,
                 uint64_t values, int64_t allowed_ns, struct tacho_err *err)
{
    const struct exec *exec = run->exec;
    const char *program = exec->options->command.items[0];
    if (flooded) {
        return tacho_fail(err, TACHO_RETRY,
                          "%.100s printed more than max_output (%" PRId64 " bytes) and was ended",
                          program, exec->options->max_output_bytes);
    }
    if (wait == EXEC_WOKEN) {
        return tacho_fail(err, TACHO_RETRY, "the run of %.100s was cancelled", program);
    }
    if (wait == EXEC_LATE) {
        bool own = allowed_ns >= exec->options->timeout_ns;
        return tacho_fail(err, TACHO_RETRY,
                          "%.100s was not done after %" PRId64 " ms and was ended; raise %s",
                          program, allowed_ns / EXEC_NS_PER_MS, own ? "timeout" : "deadline");
    }
    if (status != 0) {
        return fail_status(exec, status, err);
    }
    if (run->bad_lines > 0) {
        return fail_bad(run, values, err);
    }
    return values ? TACHO_OK : TACHO_NO_DATA;
}

int exec_oneshot_collect(struct exec *exec, struct tacho_batch *batch, int64_t deadline_ns,
                         struct tacho_err *err)
{
    struct run run = {.exec = exec};
    struct exec_child child;
    int64_t begin = exec->host->mono_ns();
    int64_t limit = limit_of(exec, deadline_ns);
    int result = exec_record_init(&run.record, &exec->names, batch, err);
    if (result != TACHO_OK) {
        return result;
    }
    exec->out.on_line = on_line;
    exec->out.context = &run;
    result = exec_start(exec, &child, err);
    if (result != TACHO_OK) {
        (void)exec_record_fini(&run.record);
        return result;
    }
    bool flooded;
    enum exec_wait wait = wait_end(exec, &child, limit, &flooded);
    int status = exec_child_stop(&child);
    uint64_t values = exec_record_fini(&run.record);
    uint64_t taken;
    if (wait == EXEC_WOKEN && read(exec->wake, &taken, sizeof taken) < 0) {
        exec->host->log(exec->host, TACHO_LOG_WARN, "a cancelled run may be cancelled twice");
    }
    return judge(&run, wait, flooded, status, values, limit - begin, err);
}
