/* SPDX-License-Identifier: MIT */
/*
 * Output of nvidia-smi, in time: one run from start to end, or a run that goes on and prints a
 * document each interval. There is never a second process while one cannot be ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

#define READ_BYTES 65536
#define ARGUMENT_LIMIT 32

enum wait { WAIT_DATA, WAIT_ENDED, WAIT_LATE, WAIT_WOKEN, WAIT_FULL };

/* ---- buffer ---------------------------------------------------------------------------------- */

static bool make_room(struct smi_buffer *buffer)
{
    if (buffer->size - buffer->used > READ_BYTES) {
        return true;
    }
    size_t wanted = buffer->size ? buffer->size * 2 : (size_t)4 * READ_BYTES;
    char *grown = buffer->used < buffer->limit ? realloc(buffer->data, wanted) : NULL;
    if (!grown) {
        return false;
    }
    buffer->data = grown;
    buffer->size = wanted;
    return true;
}

void smi_buffer_drop(struct smi_buffer *buffer, size_t length)
{
    buffer->used -= length;
    memmove(buffer->data, buffer->data + length, buffer->used + 1);
}

/* Reads all that is there. False at the end of the pipe or when there is too much. */
static enum wait drain(struct smi_buffer *buffer, int fd)
{
    for (;;) {
        if (!make_room(buffer)) {
            return WAIT_FULL;
        }
        ssize_t got = read(fd, buffer->data + buffer->used, READ_BYTES);
        if (got <= 0) {
            buffer->data[buffer->used] = '\0';
            return got == 0 ? WAIT_ENDED : WAIT_DATA;
        }
        buffer->used += (size_t)got;
        buffer->data[buffer->used] = '\0';
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

void smi_wake_forget(struct smi *smi)
{
    uint64_t count;
    while (read(smi->wake, &count, sizeof count) > 0) {
    }
}

/* Waits for output and takes all of it. WAIT_ENDED: the program has ended and all is read. */
static enum wait pump(struct smi *smi, const struct smi_child *child, bool *open, int64_t until_ns)
{
    int64_t left_ms = (until_ns - smi->host->mono_ns()) / SMI_NS_PER_MS;
    struct pollfd fds[] = {{.fd = smi->wake, .events = POLLIN},
                           {.fd = *open ? child->out : -1, .events = POLLIN}};
    int limit_ms = left_ms < 0 ? 0 : left_ms > 50 ? 50 : (int)left_ms;
    int ready = poll(fds, 2, *open ? limit_ms : (limit_ms > 2 ? 2 : limit_ms));
    if (ready > 0 && fds[0].revents) {
        return WAIT_WOKEN;
    }
    if (ready > 0) {
        enum wait result = drain(&smi->output, child->out);
        *open = result != WAIT_ENDED;
        return result == WAIT_FULL ? WAIT_FULL : WAIT_DATA;
    }
    if (smi_child_ended(child)) {
        /* Others may hold the pipe open for ever: what is in it now is all. */
        return *open && drain(&smi->output, child->out) == WAIT_FULL ? WAIT_FULL : WAIT_ENDED;
    }
    return left_ms <= 0 ? WAIT_LATE : WAIT_DATA;
}

static int64_t limit_of(const struct smi *smi, int64_t deadline_ns)
{
    int64_t now_ns = smi->host->mono_ns();
    int64_t share_ns = (deadline_ns - now_ns) / 5 * 4;
    int64_t timeout_ns = smi->options->timeout_ns;
    return now_ns + (timeout_ns < share_ns ? timeout_ns : share_ns);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static int stop(struct smi *smi, struct smi_child *child)
{
    int status = smi_child_stop(child);
    if (child->pid != 0) {
        smi->stuck = child->pid;
        child->pid = 0;
    }
    return status;
}

bool smi_is_stuck(struct smi *smi)
{
    int status;
    if (smi->stuck != 0 && waitpid(smi->stuck, &status, WNOHANG) != 0) {
        smi->stuck = 0;
    }
    return smi->stuck != 0;
}

static int fail_wait(struct smi *smi, enum wait wait, int64_t waited_ns, struct tacho_err *err)
{
    const char *hint = smi->stuck
                           ? "; it hangs in the driver and cannot be ended: check the kernel log"
                           : "; is the driver busy, or persistence mode off?";
    switch (wait) {
    case WAIT_LATE:
        return tacho_fail(err, TACHO_RETRY, "%.200s did not end within %.1f s and was ended%s",
                          smi->path, (double)waited_ns / 1e9, hint);
    case WAIT_WOKEN:
        return tacho_fail(err, TACHO_RETRY, "the run of %.200s was cut short", smi->path);
    default:
        return tacho_fail(err, TACHO_RETRY, "%.200s printed more than %zu bytes (max_output)",
                          smi->path, smi->output.limit);
    }
}

/* ---- one run --------------------------------------------------------------------------------- */

static int start(struct smi *smi, const char *const *arguments, struct smi_child *child,
                 struct tacho_err *err)
{
    const char *argv[ARGUMENT_LIMIT + 1];
    uint32_t count = 0;
    if (smi_is_stuck(smi)) {
        return tacho_fail(err, TACHO_RETRY,
                          "%.200s (process %" PRId32 ") hangs in the driver and cannot be ended; "
                          "no other is started; check the kernel log",
                          smi->path, (int32_t)smi->stuck);
    }
    for (uint32_t i = 0; i < smi->options->command.count && count < ARGUMENT_LIMIT / 2; i++) {
        argv[count++] = smi->options->command.items[i];
    }
    for (uint32_t i = 0; arguments[i] && count < ARGUMENT_LIMIT; i++) {
        argv[count++] = arguments[i];
    }
    argv[count] = NULL;
    smi->output.used = 0;
    if (!make_room(&smi->output)) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the output of nvidia-smi");
    }
    smi->output.data[0] = '\0';
    return smi_child_start(child, smi->path, argv, err);
}

int smi_run(struct smi *smi, const char *const *arguments, int64_t deadline_ns, char *out_status,
            size_t status_size, int *out_code, struct tacho_err *err)
{
    struct smi_child child;
    int64_t begin_ns = smi->host->mono_ns();
    int result = start(smi, arguments, &child, err);
    if (result != TACHO_OK) {
        return result;
    }
    bool open = true;
    enum wait wait = WAIT_DATA;
    int64_t until_ns = limit_of(smi, deadline_ns);
    while (wait == WAIT_DATA) {
        wait = pump(smi, &child, &open, until_ns);
    }
    int status = stop(smi, &child);
    if (wait != WAIT_ENDED) {
        return fail_wait(smi, wait, smi->host->mono_ns() - begin_ns, err);
    }
    (void)smi_child_status(status, out_status, status_size);
    *out_code = status;
    return TACHO_OK;
}

/* ---- a run that goes on ---------------------------------------------------------------------- */

void smi_loop_stop(struct smi *smi)
{
    if (smi->looping.pid != 0) {
        (void)stop(smi, &smi->looping);
    }
}

static int loop_start(struct smi *smi, struct tacho_err *err)
{
    char period[32];
    bool seconds = smi->interval_ns % SMI_NS_PER_S == 0;
    (void)snprintf(period, sizeof period, "%" PRId64,
                   smi->interval_ns / (seconds ? SMI_NS_PER_S : SMI_NS_PER_MS));
    const char *arguments[] = {"-q", "-x", seconds ? "-l" : "-lms", period, NULL};
    smi->answered_ns = smi->host->mono_ns();
    return start(smi, arguments, &smi->looping, err);
}

/* Reads the newest whole document that is in the buffer; false when there is none. */
static bool take_newest(struct smi *smi, int *out_result, struct tacho_err *err)
{
    size_t at;
    size_t length;
    size_t newest = 0;
    size_t newest_length = 0;
    size_t done = 0;
    struct smi_buffer *buffer = &smi->output;
    while (smi_xml_find(buffer->data + done, buffer->used - done, &at, &length)) {
        newest = done + at;
        newest_length = length;
        done = newest + length;
    }
    if (done == 0) {
        return false;
    }
    *out_result =
        smi_xml_parse(&smi->tree, buffer->data + newest, newest_length, &smi->reading, err);
    smi_buffer_drop(buffer, done);
    return true;
}

static int fail_loop(struct smi *smi, enum wait wait, int64_t silent_ns, struct tacho_err *err)
{
    char status[64] = "";
    int code = stop(smi, &smi->looping);
    smi->loop_failures++;
    if (wait == WAIT_ENDED) {
        return smi_explain(smi->path, smi->output.data,
                           smi_child_status(code, status, sizeof status), err);
    }
    if (wait == WAIT_LATE) {
        return tacho_fail(err, TACHO_RETRY, "%.200s has printed nothing for %.1f s and was ended%s",
                          smi->path, (double)silent_ns / 1e9,
                          smi->stuck ? "; it hangs in the driver" : "");
    }
    return fail_wait(smi, wait, silent_ns, err);
}

/* What comes until the time is over. */
static int loop_wait(struct smi *smi, int64_t until_ns, struct tacho_err *err)
{
    bool open = true;
    int result = TACHO_OK;
    enum wait wait = WAIT_DATA;
    while (wait == WAIT_DATA) {
        wait = pump(smi, &smi->looping, &open, until_ns);
        if (take_newest(smi, &result, err)) {
            smi->answered_ns = smi->host->mono_ns();
            smi->loop_failures = result == TACHO_OK ? 0 : smi->loop_failures + 1;
            return result;
        }
    }
    int64_t silent_ns = smi->host->mono_ns() - smi->answered_ns;
    int64_t patience_ns = 2 * smi->interval_ns > smi->options->timeout_ns
                              ? 2 * smi->interval_ns
                              : smi->options->timeout_ns;
    if (wait == WAIT_LATE && silent_ns <= patience_ns) {
        return silent_ns <= 2 * smi->interval_ns
                   ? TACHO_NO_DATA
                   : tacho_fail(err, TACHO_RETRY, "%.200s has printed nothing for %.1f s",
                                smi->path, (double)silent_ns / 1e9);
    }
    return fail_loop(smi, wait, silent_ns, err);
}

int smi_loop(struct smi *smi, int64_t deadline_ns, struct tacho_err *err)
{
    int64_t now_ns = smi->host->mono_ns();
    /* Nobody asked for long: what waits in the pipe is old. */
    if (now_ns - smi->asked_ns > 2 * smi->interval_ns) {
        smi_loop_stop(smi);
    }
    int64_t until_ns = limit_of(smi, deadline_ns);
    if (smi->looping.pid == 0) {
        int result = loop_start(smi, err);
        if (result != TACHO_OK) {
            return result;
        }
    } else if (until_ns > now_ns + smi->interval_ns / 2) {
        until_ns = now_ns + smi->interval_ns / 2;
    }
    int result = loop_wait(smi, until_ns, err);
    smi->asked_ns = smi->host->mono_ns();
    return result;
}
