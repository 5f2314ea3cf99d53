/* SPDX-License-Identifier: MIT */
/*
 * Provider of GPUs by way of nvtop: the tables, the life of an instance, and when the program runs:
 * once for each reading, or on and on with each reading taking its newest snapshot.
 */
#include "plugins/nvtop/nvtop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RELEASE(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define FIRST_JSON RELEASE(3, 2, 0)
#define FIRST_LOOP RELEASE(3, 3, 2)

struct nvtop {
    const struct tacho_host *host;
    const struct nvtop_options *options;
    char **envp;
    int wake; /* eventfd, written by cancel */
    struct nvtop_child child;
    int version;      /* 0: not known */
    int64_t delay_ns; /* between snapshots of the loop */
    int64_t heard_ns; /* loop: the last snapshot, or its start */
    int64_t asked_ns; /* loop: the last reading */
    bool said_no_loop;
};

static const struct tacho_option option_table[] = {
    {.name = "command",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct nvtop_options, command),
     .preset = "nvtop",
     .help = "Program and first arguments, as a list; no shell reads them"},
    {.name = "mode",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct nvtop_options, mode),
     .preset = "oneshot",
     .choices = "oneshot|loop",
     .help = "oneshot: started for each reading; loop: runs on, where nvtop can (3.3.2 and later)"},
    {.name = "timeout",
     .type = TACHO_DURATION,
     .offset = offsetof(struct nvtop_options, timeout_ns),
     .preset = "5s",
     .minimum = 0.05,
     .maximum = 3600,
     .help = "How long a run may take, or a loop be silent beyond its interval"},
    {.name = "processes",
     .type = TACHO_BOOL,
     .offset = offsetof(struct nvtop_options, processes),
     .preset = "true",
     .help = "Whether processes are shown, with user and command line"},
    {.name = "proc",
     .type = TACHO_STRING,
     .offset = offsetof(struct nvtop_options, proc),
     .preset = "/proc",
     .help = "Where the machine's proc file system is"},
    {.name = "max_output",
     .type = TACHO_SIZE,
     .offset = offsetof(struct nvtop_options, max_output_bytes),
     .preset = "4MiB",
     .minimum = 1024,
     .maximum = 1 << 28,
     .help = "Most that is kept of what nvtop prints"},
};

#define NVTOP_METRIC(id, name_, unit_, kind_, help_) \
    [id] = {.name = (name_), .unit = (unit_), .kind = (kind_), .help = (help_)},
static const struct tacho_metric metric_table[] = {
#include "plugins/nvtop/metrics.def"
};
#undef NVTOP_METRIC

/* ---- one run --------------------------------------------------------------------------------- */

/* When a call has to be over: early enough before the deadline to end the program. */
static int64_t limit_of(const struct nvtop *nvtop, int64_t deadline_ns)
{
    int64_t now = nvtop->host->mono_ns();
    int64_t limit = now + nvtop->options->timeout_ns;
    int64_t room = now + (deadline_ns - now) * 8 / 10;
    return deadline_ns > now && room < limit ? room : limit;
}

static int fail_flood(const struct nvtop *nvtop, struct tacho_err *err)
{
    return tacho_fail(err, TACHO_RETRY, "nvtop printed more than max_output (%" PRId64 " bytes)",
                      nvtop->options->max_output_bytes);
}

static int fail_cancelled(struct tacho_err *err)
{
    return tacho_fail(err, TACHO_RETRY, "the run of nvtop was cancelled");
}

/* Runs it to its end; its output is then in child.data and its wait status in out_status. */
static int run(struct nvtop *nvtop, const char *const *arguments, int64_t limit_ns, int *out_status,
               struct tacho_err *err)
{
    struct nvtop_child *child = &nvtop->child;
    int64_t begin = nvtop->host->mono_ns();
    int result = nvtop_child_start(child, &nvtop->options->command, arguments, nvtop->envp, err);
    if (result != TACHO_OK) {
        return result;
    }
    enum nvtop_wait wait;
    int64_t now;
    do {
        now = nvtop->host->mono_ns();
        wait = nvtop_child_pump(child, nvtop->wake, limit_ns - now);
    } while (wait != NVTOP_ENDED && wait != NVTOP_WOKEN && !child->flooded && now < limit_ns);
    *out_status = nvtop_child_stop(child);
    if (wait == NVTOP_WOKEN) {
        return fail_cancelled(err);
    }
    if (child->flooded) {
        return fail_flood(nvtop, err);
    }
    if (wait != NVTOP_ENDED) {
        return tacho_fail(err, TACHO_RETRY,
                          "%.100s %s was not done after %" PRId64
                          " ms and was ended; raise timeout or look at the driver",
                          nvtop->options->command.items[0], arguments[0],
                          (now - begin) / NVTOP_NS_PER_MS);
    }
    return TACHO_OK;
}

/* Asks for the version before anything else: older programs take -s for something else. */
static int learn_version(struct nvtop *nvtop, int64_t limit_ns, struct tacho_err *err)
{
    static const char *const arguments[] = {"--version", NULL};
    char text[64];
    char status_text[256];
    int major = 0;
    int minor = 0;
    int patch = 0;
    int status;
    int result = run(nvtop, arguments, limit_ns, &status, err);
    if (result != TACHO_OK) {
        return result;
    }
    struct nvtop_child *child = &nvtop->child;
    (void)snprintf(text, sizeof text, "%.*s", (int)(child->used < 63 ? child->used : 63),
                   child->used ? child->data : "");
    text[strcspn(text, "\r\n")] = '\0';
    if (sscanf(text, "nvtop version %3d.%3d.%3d", &major, &minor, &patch) < 2) {
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "%.100s --version says \"%s\", not \"nvtop version …\" (%s)",
                          nvtop->options->command.items[0], text,
                          nvtop_child_status(child, status, status_text, sizeof status_text));
    }
    if (RELEASE(major, minor, patch) < FIRST_JSON) {
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "nvtop %d.%d.%d prints no JSON; 3.2.0 or later is needed", major, minor,
                          patch);
    }
    nvtop->version = RELEASE(major, minor, patch);
    return TACHO_OK;
}

static int collect_once(struct nvtop *nvtop, struct tacho_batch *batch, int64_t limit_ns,
                        struct tacho_err *err)
{
    static const char *const arguments[] = {"-s", NULL};
    char text[256];
    int status;
    const struct nvtop_child *child = &nvtop->child;
    int result = run(nvtop, arguments, limit_ns, &status, err);
    if (result != TACHO_OK) {
        return result;
    }
    /* What came before a bad end counts, when there is a whole device in it. */
    if (status != 0) {
        (void)tacho_fail(err, TACHO_RETRY, "nvtop -s ended with %s after %zu bytes",
                         nvtop_child_status(child, status, text, sizeof text), child->used);
    }
    result = nvtop_fill(nvtop->host, nvtop->options, batch, child->used ? child->data : "",
                        child->used, err);
    if (status != 0) {
        result = result == TACHO_OK || result == TACHO_PARTIAL ? TACHO_PARTIAL : TACHO_RETRY;
        err->code = result;
    }
    return result;
}

/* ---- loop ------------------------------------------------------------------------------------ */

static int start_loop(struct nvtop *nvtop, struct tacho_err *err)
{
    char tenths[16];
    int64_t count = nvtop->delay_ns / (NVTOP_NS_PER_S / 10);
    (void)snprintf(tenths, sizeof tenths, "%" PRId64, count < 1 ? 1 : count > 999 ? 999 : count);
    const char *const arguments[] = {"-s", "-l", "-d", tenths, NULL};
    nvtop->heard_ns = nvtop->host->mono_ns();
    return nvtop_child_start(&nvtop->child, &nvtop->options->command, arguments, nvtop->envp, err);
}

/* Finds the newest whole snapshot and forgets those before it. Its length; 0: none yet, -1: this is
 * something else. */
static ssize_t newest(struct nvtop_child *child)
{
    size_t begin = 0;
    ssize_t length = nvtop_json_array(child->data, child->used);
    if (length <= 0) {
        return length;
    }
    for (;;) {
        size_t next = begin + (size_t)length;
        ssize_t more = nvtop_json_array(child->data + next, child->used - next);
        if (more <= 0) {
            break;
        }
        begin = next;
        length = more;
    }
    memmove(child->data, child->data + begin, child->used - begin);
    child->used -= begin;
    return length;
}

/* Writes the newest snapshot and takes it off the output. */
static int take_newest(struct nvtop *nvtop, struct tacho_batch *batch, size_t length,
                       struct tacho_err *err)
{
    struct nvtop_child *child = &nvtop->child;
    int result = nvtop_fill(nvtop->host, nvtop->options, batch, child->data, length, err);
    memmove(child->data, child->data + length, child->used - length);
    child->used -= length;
    nvtop->heard_ns = nvtop->host->mono_ns();
    return result;
}

/* The loop has ended by itself, or does not do what it should: it starts anew next time. */
static int end_loop(struct nvtop *nvtop, struct tacho_batch *batch, enum nvtop_wait wait,
                    struct tacho_err *err)
{
    char text[256];
    struct nvtop_child *child = &nvtop->child;
    int status = nvtop_child_stop(child);
    nvtop->version = 0;
    if (child->flooded) {
        return fail_flood(nvtop, err);
    }
    if (child->used > 0 && nvtop_json_array(child->data, child->used) < 0) {
        return nvtop_fill(nvtop->host, nvtop->options, batch, child->data, child->used, err);
    }
    if (wait != NVTOP_ENDED) {
        return tacho_fail(err, TACHO_RETRY,
                          "nvtop -l has printed no snapshot for %" PRId64
                          " ms and was ended; raise timeout or look at the driver",
                          (nvtop->host->mono_ns() - nvtop->heard_ns) / NVTOP_NS_PER_MS);
    }
    return tacho_fail(err, TACHO_RETRY, "nvtop -l ended with %s",
                      nvtop_child_status(child, status, text, sizeof text));
}

static int collect_loop(struct nvtop *nvtop, struct tacho_batch *batch, int64_t limit_ns,
                        struct tacho_err *err)
{
    struct nvtop_child *child = &nvtop->child;
    int64_t now = nvtop->host->mono_ns();
    /* After a long pause what lies in the pipe is from its begin. */
    if (child->pid && now - nvtop->asked_ns > 2 * nvtop->delay_ns + nvtop->options->timeout_ns) {
        (void)nvtop_child_stop(child);
    }
    nvtop->asked_ns = now;
    int result = child->pid ? TACHO_OK : start_loop(nvtop, err);
    if (result != TACHO_OK) {
        return result;
    }
    for (;;) {
        enum nvtop_wait wait = nvtop_child_pump(child, nvtop->wake, limit_ns - now);
        ssize_t length = child->used ? newest(child) : 0;
        now = nvtop->host->mono_ns();
        if (wait == NVTOP_WOKEN) {
            return fail_cancelled(err);
        }
        if (length > 0) {
            return take_newest(nvtop, batch, (size_t)length, err);
        }
        bool silent = now - nvtop->heard_ns > nvtop->delay_ns + nvtop->options->timeout_ns;
        if (wait == NVTOP_ENDED || child->flooded || silent || length < 0) {
            return end_loop(nvtop, batch, wait, err);
        }
        if (now >= limit_ns) {
            return TACHO_NO_DATA;
        }
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static int nvtop_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                         struct tacho_err *err)
{
    struct nvtop *nvtop = self;
    uint64_t old;
    ssize_t got = read(nvtop->wake, &old, sizeof old);
    (void)got; /* a cancel that came after the call it was meant for is forgotten */
    int64_t limit_ns = limit_of(nvtop, deadline_ns);
    int result =
        nvtop->version || nvtop->child.pid ? TACHO_OK : learn_version(nvtop, limit_ns, err);
    if (result != TACHO_OK) {
        return result;
    }
    bool loop = strcmp(nvtop->options->mode, "loop") == 0;
    if (loop && nvtop->version < FIRST_LOOP && !nvtop->said_no_loop) {
        nvtop->said_no_loop = true;
        nvtop->host->log(nvtop->host, TACHO_LOG_INFO,
                         "this nvtop has no loop (3.3.2 and later have): started for each reading");
    }
    result = loop && nvtop->version >= FIRST_LOOP ? collect_loop(nvtop, batch, limit_ns, err)
                                                  : collect_once(nvtop, batch, limit_ns, err);
    if (result > TACHO_PARTIAL && !nvtop->child.pid) {
        nvtop->version = 0; /* perhaps it is being replaced by another */
    }
    return result;
}

/* Ours, with messages that do not depend on where one lives. */
static char **make_environment(void)
{
    size_t ours = 0;
    size_t count = 0;
    while (environ[ours]) {
        ours++;
    }
    char **envp = calloc(ours + 2, sizeof *envp);
    for (size_t i = 0; envp && i < ours; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) != 0) {
            envp[count++] = environ[i];
        }
    }
    if (envp) {
        envp[count] = (char *)"LC_ALL=C";
    }
    return envp;
}

static int64_t interval_of(const struct tacho_host *host)
{
    int64_t interval_ns = strtoll(host->setting(host, TACHO_SETTING_INTERVAL), NULL, 10);
    return interval_ns > 0 ? interval_ns : NVTOP_NS_PER_S;
}

static void nvtop_close(void *self)
{
    struct nvtop *nvtop = self;
    nvtop_child_fini(&nvtop->child);
    if (nvtop->wake >= 0) {
        close(nvtop->wake);
    }
    free(nvtop->envp);
    free(nvtop);
}

static int nvtop_open(const struct tacho_host *host, const void *opaque, void **out_self,
                      struct tacho_err *err)
{
    const struct nvtop_options *options = opaque;
    if (options->command.count == 0 || !options->command.items[0][0]) {
        return tacho_fail(err, TACHO_CONFIG, "command: the name of a program was expected");
    }
    struct nvtop *nvtop = calloc(1, sizeof *nvtop);
    if (!nvtop) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance of nvtop");
    }
    nvtop->host = host;
    nvtop->options = options;
    nvtop->delay_ns = interval_of(host);
    nvtop_child_init(&nvtop->child, (size_t)options->max_output_bytes);
    nvtop->envp = make_environment();
    nvtop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!nvtop->envp || nvtop->wake < 0) {
        int problem = errno;
        nvtop_close(nvtop);
        return tacho_fail(err, TACHO_RETRY, "cannot prepare to run nvtop: %s", strerror(problem));
    }
    *out_self = nvtop;
    return TACHO_OK;
}

static void nvtop_cancel(void *self)
{
    struct nvtop *nvtop = self;
    uint64_t one = 1;
    ssize_t written = write(nvtop->wake, &one, sizeof one);
    (void)written; /* full means that it is awake already */
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "nvtop",
    .version = "1.0",
    .summary = "GPUs of any vendor, as the program nvtop sees them",
    TACHO_OPTIONS(option_table, struct nvtop_options),
    TACHO_METRICS(metric_table),
    .open = nvtop_open,
    .close = nvtop_close,
    .collect = nvtop_collect,
    .cancel = nvtop_cancel,
};
