/* SPDX-License-Identifier: MIT */
/*
 * Provider that runs a program of the user's own: the tables, the life of an instance, and the wait
 * for output that both modes share.
 */
#include "plugins/exec/exec.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define READ_BYTES 16384
#define LAST_READS 64 /* after the program's end: more than a pipe holds */
#define COMPLAINT_BYTES 4096

static const struct tacho_option option_table[] = {
    {.name = "command",
     .type = TACHO_STRINGS,
     .flags = TACHO_REQUIRED,
     .offset = offsetof(struct exec_options, command),
     .help = "Program and arguments, as a list; no shell reads them"},
    {.name = "mode",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct exec_options, mode),
     .preset = "oneshot",
     .choices = "oneshot|stream",
     .help = "oneshot: started for each reading; stream: runs on, each line is a reading"},
    {.name = "timeout",
     .type = TACHO_DURATION,
     .offset = offsetof(struct exec_options, timeout_ns),
     .preset = "10s",
     .minimum = 0.01,
     .maximum = 86400,
     .help = "oneshot: how long a run may take; never longer than the reading's deadline"},
    {.name = "restart",
     .type = TACHO_DURATION,
     .offset = offsetof(struct exec_options, restart_ns),
     .preset = "1s",
     .minimum = 0.01,
     .maximum = 3600,
     .help = "stream: pause before a program that ended is started again; doubles up to a minute"},
    {.name = "silence",
     .type = TACHO_DURATION,
     .offset = offsetof(struct exec_options, silence_ns),
     .preset = "1m",
     .minimum = 0,
     .maximum = 86400,
     .help = "stream: without a line for so long the provider counts as failing; 0: never"},
    {.name = "environment",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct exec_options, environment),
     .help = "Variables for the program, each NAME=VALUE, added to the daemon's own"},
    {.name = "folder",
     .type = TACHO_STRING,
     .offset = offsetof(struct exec_options, folder),
     .help = "Folder that the program runs in"},
    {.name = "max_line",
     .type = TACHO_SIZE,
     .offset = offsetof(struct exec_options, max_line_bytes),
     .preset = "1MiB",
     .minimum = 16,
     .maximum = 1 << 28,
     .help = "Longest line"},
    {.name = "max_output",
     .type = TACHO_SIZE,
     .offset = offsetof(struct exec_options, max_output_bytes),
     .preset = "8MiB",
     .minimum = 16,
     .maximum = 1 << 30,
     .help = "oneshot: most that a run may print"},
    {.name = "max_rate",
     .type = TACHO_INT,
     .offset = offsetof(struct exec_options, max_rate),
     .preset = "1000",
     .minimum = 1,
     .maximum = 1000000,
     .help = "stream: most lines in a second; those above are dropped and counted"},
};

/* ---- output ---------------------------------------------------------------------------------- */

/* A line of standard error goes into the log; the last one explains a failure. */
static void on_complaint(void *context, uint64_t number, const char *text, size_t length)
{
    (void)number;
    struct exec *exec = context;
    json_t *valid = text ? json_stringn(text, length) : NULL;
    if (length > 0) {
        (void)snprintf(exec->complaint, sizeof exec->complaint, "%s",
                       valid ? text : "(a line that is no text)");
        tacho_logf(exec->host, TACHO_LOG_INFO, "%s: %s", exec->options->command.items[0],
                   exec->complaint);
    }
    json_decref(valid);
}

/* Reads once; closes the eyes at the end of the pipe. Returns whether something came. */
static bool read_some(int fd, bool *open, struct exec_lines *lines)
{
    char data[READ_BYTES];
    ssize_t got = *open ? read(fd, data, sizeof data) : -1;
    if (got > 0) {
        exec_lines_feed(lines, data, (size_t)got);
    } else if (got == 0 || (*open && errno != EAGAIN && errno != EINTR)) {
        *open = false;
    }
    return got > 0;
}

/* What is still in the pipes of a program that is gone; others may hold them open for ever. */
static void read_rest(struct exec *exec, struct exec_child *child)
{
    for (int i = 0; i < LAST_READS && read_some(child->out, &child->out_open, &exec->out); i++) {
    }
    for (int i = 0; i < LAST_READS && read_some(child->err, &child->err_open, &exec->err); i++) {
    }
    exec_lines_end(&exec->out);
    exec_lines_end(&exec->err);
}

enum exec_wait exec_pump(struct exec *exec, struct exec_child *child, int64_t until_ns)
{
    struct pollfd fds[] = {{.fd = exec->wake, .events = POLLIN},
                           {.fd = child->out_open ? child->out : -1, .events = POLLIN},
                           {.fd = child->err_open ? child->err : -1, .events = POLLIN}};
    int64_t left_ms = (until_ns - exec->host->mono_ns()) / EXEC_NS_PER_MS + 1;
    if (!child->out_open && !child->err_open && left_ms > 1) {
        left_ms = exec_child_ended(child) ? 0 : 1; /* its end cannot be far */
    }
    int ready = poll(fds, 3, left_ms > 0 ? (int)left_ms : 0);
    if (ready > 0 && fds[0].revents) {
        return EXEC_WOKEN;
    }
    if (ready > 0) {
        (void)read_some(child->out, &child->out_open, &exec->out);
        (void)read_some(child->err, &child->err_open, &exec->err);
        return EXEC_READY;
    }
    if (exec_child_ended(child)) {
        read_rest(exec, child);
        return EXEC_ENDED;
    }
    return EXEC_LATE;
}

int exec_start(struct exec *exec, struct exec_child *child, struct tacho_err *err)
{
    exec_lines_reset(&exec->out);
    exec_lines_reset(&exec->err);
    exec->complaint[0] = '\0';
    return exec_child_start(child, exec->options, exec->envp, err);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int check_options(const struct exec_options *options, struct tacho_err *err)
{
    if (options->command.count == 0 || !options->command.items[0][0]) {
        return tacho_fail(err, TACHO_CONFIG, "command: the name of a program was expected");
    }
    for (uint32_t i = 0; i < options->environment.count; i++) {
        const char *item = options->environment.items[i];
        if (item[0] == '=' || !strchr(item, '=')) {
            return tacho_fail(err, TACHO_CONFIG, "environment: \"%s\" is not NAME=VALUE", item);
        }
    }
    return TACHO_OK;
}

static void release(struct exec *exec)
{
    if (exec->wake >= 0) {
        close(exec->wake);
    }
    exec_lines_fini(&exec->out);
    exec_lines_fini(&exec->err);
    exec_names_fini(&exec->names);
    free(exec->envp);
    free(exec);
}

static bool is_stream(const struct exec_options *options)
{
    return strcmp(options->mode, "stream") == 0;
}

static int open_parts(struct exec *exec, struct tacho_err *err)
{
    int result = exec_names_init(&exec->names, exec->host, err);
    if (result != TACHO_OK) {
        return result;
    }
    exec->envp = exec_environment(exec->options);
    exec->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!exec->envp || exec->wake < 0) {
        return tacho_fail(err, TACHO_RETRY, "cannot prepare to run %s: %s",
                          exec->options->command.items[0], strerror(errno));
    }
    exec_lines_init(&exec->out, (size_t)exec->options->max_line_bytes, NULL, NULL);
    exec_lines_init(&exec->err, COMPLAINT_BYTES, on_complaint, exec);
    return is_stream(exec->options) ? exec_stream_open(exec, err) : TACHO_OK;
}

static int exec_open(const struct tacho_host *host, const void *options, void **out_self,
                     struct tacho_err *err)
{
    int result = check_options(options, err);
    if (result != TACHO_OK) {
        return result;
    }
    struct exec *exec = calloc(1, sizeof *exec);
    if (!exec) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance of exec");
    }
    exec->host = host;
    exec->options = options;
    exec->wake = -1;
    result = open_parts(exec, err);
    if (result != TACHO_OK) {
        release(exec);
        return result;
    }
    *out_self = exec;
    return TACHO_OK;
}

static void exec_close(void *self)
{
    struct exec *exec = self;
    if (exec->stream) {
        exec_stream_close(exec);
    }
    release(exec);
}

static int exec_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                        struct tacho_err *err)
{
    struct exec *exec = self;
    return exec->stream ? exec_stream_collect(exec, err)
                        : exec_oneshot_collect(exec, batch, deadline_ns, err);
}

static void exec_cancel(void *self)
{
    struct exec *exec = self;
    uint64_t one = 1;
    /* In stream mode no call waits, and the thread must not take this for its end. */
    if (!exec->stream && write(exec->wake, &one, sizeof one) < 0) {
        exec->host->log(exec->host, TACHO_LOG_WARN, "cannot cancel the run of a program");
    }
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "exec",
    .version = "1.0",
    .summary = "A program of your own, in any language, that prints JSON lines",
    TACHO_OPTIONS(option_table, struct exec_options),
    .open = exec_open,
    .close = exec_close,
    .collect = exec_collect,
    .cancel = exec_cancel,
};
