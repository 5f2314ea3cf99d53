/* SPDX-License-Identifier: MIT */
/*
 * Provider of NVIDIA GPUs by way of the program nvidia-smi: the tables, the life of an instance,
 * and which form of output is asked for. Running it is in run.c, reading what it prints in xml.c
 * and csv.c, writing the batch in fill.c.
 */
#include "plugins/nvidia_smi/nvidia_smi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LOOP_FAILURES 2 /* so many in a row, and it is left alone */
#define COMMAND_LIMIT 16

static const struct tacho_option option_table[] = {
    {.name = "command",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct smi_options, command),
     .preset = "nvidia-smi",
     .help = "Program, with arguments before our own, as a list; no shell reads them"},
    {.name = "mode",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct smi_options, mode),
     .preset = "xml",
     .choices = "xml|csv",
     .help = "xml: everything it knows; csv: less, and cheaper for the driver"},
    {.name = "loop",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct smi_options, loop),
     .preset = "auto",
     .choices = "auto|on|off",
     .help = "xml: one program that runs on instead of one for each reading; auto: while it works"},
    {.name = "timeout",
     .type = TACHO_DURATION,
     .offset = offsetof(struct smi_options, timeout_ns),
     .preset = "20s",
     .minimum = 0.01,
     .maximum = 3600,
     .help = "How long a run may take; never longer than four fifths of the reading's deadline"},
    {.name = "processes",
     .type = TACHO_BOOL,
     .offset = offsetof(struct smi_options, processes),
     .preset = "true",
     .help = "Whether to tell of the processes on the GPUs"},
    {.name = "proc",
     .type = TACHO_STRING,
     .offset = offsetof(struct smi_options, proc),
     .preset = "/proc",
     .help = "Where the machine's proc file system is, for who a process is"},
    {.name = "max_output",
     .type = TACHO_SIZE,
     .offset = offsetof(struct smi_options, max_output_bytes),
     .preset = "32MiB",
     .minimum = 65536,
     .maximum = 1 << 30,
     .help = "Most that a run may print"},
};

static const struct tacho_metric metric_table[] = {
#define FIELD(index_, name_, unit_, kind_, flags_, help_, convert_, xml_, csv_) \
    [M_##index_] = {name_, unit_, TACHO_##kind_, flags_, help_},
#include "plugins/nvidia_smi/fields.def"
#undef FIELD
    [M_PROC_MEMORY] = {"gpu.process.memory", "bytes", TACHO_GAUGE, NULL,
                       "Device memory held by the process"},
    [M_PROC_UTIL] = {"gpu.process.utilization", "percent", TACHO_GAUGE, NULL,
                     "Share of the GPU used by the process"},
    [M_PROC_MEM_UTIL] = {"gpu.process.memory_utilization", "percent", TACHO_GAUGE, NULL,
                         "Share of the memory traffic caused by the process"},
    [M_PROC_ENC_UTIL] = {"gpu.process.encoder_utilization", "percent", TACHO_GAUGE, NULL,
                         "Encoder load by the process"},
    [M_PROC_DEC_UTIL] = {"gpu.process.decoder_utilization", "percent", TACHO_GAUGE, NULL,
                         "Decoder load by the process"},
};

_Static_assert(TACHO_COUNT(metric_table) == M_COUNT, "one row for each index");

/* ---- life ------------------------------------------------------------------------------------ */

static void smi_close(void *self)
{
    struct smi *smi = self;
    smi_loop_stop(smi);
    if (smi->wake >= 0) {
        close(smi->wake);
    }
    smi_reading_fini(&smi->reading);
    free(smi->output.data);
    free(smi->known);
    free(smi);
}

static int find_program(struct smi *smi, struct tacho_err *err)
{
    const struct tacho_strings *command = &smi->options->command;
    if (command->count == 0 || !command->items[0][0] || command->count > COMMAND_LIMIT) {
        return tacho_fail(err, TACHO_CONFIG, "command: a program was expected");
    }
    if (!smi_child_find(command->items[0], smi->path, sizeof smi->path)) {
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "there is no %.200s on this machine; it comes with the NVIDIA driver",
                          command->items[0]);
    }
    return TACHO_OK;
}

static int smi_open(const struct tacho_host *host, const void *options, void **out_self,
                    struct tacho_err *err)
{
    struct smi *smi = calloc(1, sizeof *smi);
    if (!smi) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance of nvidia_smi");
    }
    smi->host = host;
    smi->options = options;
    smi->output.limit = (size_t)smi->options->max_output_bytes;
    smi->interval_ns = strtoll(host->setting(host, TACHO_SETTING_INTERVAL), NULL, 10);
    smi->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    smi_tree_init(&smi->tree);
    int result = smi->wake >= 0
                     ? find_program(smi, err)
                     : tacho_fail(err, TACHO_RETRY, "cannot make an eventfd: %s", strerror(errno));
    if (result != TACHO_OK) {
        smi_close(smi);
        return result;
    }
    *out_self = smi;
    return TACHO_OK;
}

static void smi_cancel(void *self)
{
    const struct smi *smi = self;
    uint64_t one = 1;
    (void)!write(smi->wake, &one, sizeof one);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_xml(struct smi *smi, int64_t deadline_ns, struct tacho_err *err)
{
    static const char *const arguments[] = {"-q", "-x", NULL};
    char status[64];
    int code;
    size_t at;
    size_t length;
    int result = smi_run(smi, arguments, deadline_ns, status, sizeof status, &code, err);
    if (result != TACHO_OK) {
        return result;
    }
    if (!smi_xml_find(smi->output.data, smi->output.used, &at, &length)) {
        if (strstr(smi->output.data, "<nvidia_smi_log")) {
            return tacho_fail(err, TACHO_RETRY,
                              "%.200s ended with %s in the middle of its document", smi->path,
                              status);
        }
        return smi_explain(smi->path, smi->output.data, status, err);
    }
    return smi_xml_parse(&smi->tree, smi->output.data + at, length, &smi->reading, err);
}

/* What this nvidia-smi can be asked for; looked at once. */
static int discover(struct smi *smi, int64_t deadline_ns, struct tacho_err *err)
{
    static const char *const arguments[] = {"--help-query-gpu", NULL};
    char status[64];
    int code;
    if (smi->query.count > 0) {
        return TACHO_OK;
    }
    int result = smi_run(smi, arguments, deadline_ns, status, sizeof status, &code, err);
    if (result != TACHO_OK) {
        return result;
    }
    smi_query_choose(&smi->query, smi->output.data);
    return smi->query.count > 0 ? TACHO_OK : smi_explain(smi->path, smi->output.data, status, err);
}

static int read_apps(struct smi *smi, int64_t deadline_ns, struct tacho_err *err)
{
    static const char *const arguments[] = {"--query-compute-apps=" SMI_APPS_FIELDS,
                                            "--format=csv,nounits", NULL};
    char status[64];
    int code;
    int result = smi_run(smi, arguments, deadline_ns, status, sizeof status, &code, err);
    if (result == TACHO_OK) {
        smi_csv_parse_apps(smi->output.data, &smi->reading);
    }
    return result == TACHO_OK ? TACHO_OK : TACHO_PARTIAL;
}

static int read_csv(struct smi *smi, int64_t deadline_ns, struct tacho_err *err)
{
    char query[sizeof smi->query.fields + 16];
    char status[64];
    int code;
    int result = discover(smi, deadline_ns, err);
    if (result != TACHO_OK) {
        return result;
    }
    (void)snprintf(query, sizeof query, "--query-gpu=%s", smi->query.fields);
    const char *arguments[] = {query, "--format=csv,nounits", NULL};
    result = smi_run(smi, arguments, deadline_ns, status, sizeof status, &code, err);
    if (result != TACHO_OK) {
        return result;
    }
    if (!strstr(smi->output.data, ", ")) {
        smi->query.count = 0; /* a new driver may know other fields */
        return smi_explain(smi->path, smi->output.data, status, err);
    }
    result = smi_csv_parse(&smi->query, smi->output.data, &smi->reading, err);
    return result == TACHO_OK && smi->options->processes ? read_apps(smi, deadline_ns, err)
                                                         : result;
}

/* Whether the program should run on; without an interval nobody will ask again. */
static bool wants_loop(const struct smi *smi)
{
    return smi->interval_ns > 0 && strcmp(smi->options->loop, "off") != 0 &&
           (strcmp(smi->options->loop, "on") == 0 || smi->loop_failures < LOOP_FAILURES);
}

static int read_any(struct smi *smi, int64_t deadline_ns, struct tacho_err *err)
{
    if (strcmp(smi->options->mode, "csv") == 0) {
        return read_csv(smi, deadline_ns, err);
    }
    return wants_loop(smi) ? smi_loop(smi, deadline_ns, err) : read_xml(smi, deadline_ns, err);
}

static int smi_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                       struct tacho_err *err)
{
    struct smi *smi = self;
    smi_wake_forget(smi);
    int result = read_any(smi, deadline_ns, err);
    if (result != TACHO_OK && result != TACHO_PARTIAL) {
        return result;
    }
    smi_mig_name(smi, &smi->reading, deadline_ns);
    uint32_t lost = smi_fill(smi, &smi->reading, batch);
    const struct smi_cell *attached = &smi->reading.head[H_ATTACHED];
    if (lost > 0) {
        return tacho_fail(err, TACHO_PARTIAL, "%" PRIu32 " of %" PRIu32 " GPUs %s lost", lost,
                          smi->known_count, lost == 1 ? "is" : "are");
    }
    if (smi->known_count == 0) {
        return tacho_fail(err, TACHO_UNSUPPORTED, "%.200s tells of no GPU", smi->path);
    }
    if (smi->reading.bad_rows > 0) {
        return tacho_fail(err, TACHO_PARTIAL, "%" PRIu32 " rows of nvidia-smi made no sense",
                          smi->reading.bad_rows);
    }
    if (attached->type == CELL_I64 && attached->as.i64 > (int64_t)smi->reading.gpu_count) {
        return tacho_fail(err, TACHO_PARTIAL,
                          "nvidia-smi tells of %" PRIu32 " GPUs, but %" PRId64 " are attached",
                          smi->reading.gpu_count, attached->as.i64);
    }
    return result;
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "nvidia_smi",
    .version = "1.0",
    .summary = "NVIDIA GPUs by way of the program nvidia-smi",
    TACHO_OPTIONS(option_table, struct smi_options),
    TACHO_METRICS(metric_table),
    .open = smi_open,
    .close = smi_close,
    .collect = smi_collect,
    .cancel = smi_cancel,
};
