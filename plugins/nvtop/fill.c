/* SPDX-License-Identifier: MIT */
/*
 * Turns one array of devices into a batch: units off, base units on, and who a process is. A value
 * that nvtop has as null, or not at all, is absent.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plugins/nvtop/nvtop.h"

#define MIB 1048576.0
#define DEVICE_LIMIT 256
#define PROCESS_LIMIT 4096 /* of one device; the others are only counted */

/* How a unit is written, and what one of it is in the metric's own unit. */
struct unit {
    const char *suffix;
    double factor, offset;
};

static const struct unit percent[] = {{"%", 1, 0}, {NULL, 0, 0}};
static const struct unit rpm[] = {{"RPM", 1, 0}, {NULL, 0, 0}};
static const struct unit watts[] = {{"W", 1, 0}, {"mW", 0.001, 0}, {NULL, 0, 0}};
static const struct unit hertz[] = {{"MHz", 1e6, 0}, {"GHz", 1e9, 0}, {NULL, 0, 0}};
static const struct unit celsius[] = {{"C", 1, 0}, {"F", 5.0 / 9, -32}, {NULL, 0, 0}};
static const struct unit bytes[] = {
    {"", 1, 0},  {"B", 1, 0}, {"KiB", 1024, 0}, {"MiB", MIB, 0}, {"GiB", MIB * 1024, 0},
    {NULL, 0, 0}};

/* Which member is which metric; one member may come in two units (fan_speed). */
struct member {
    const char *name;
    const struct unit *units;
    enum nvtop_metric metric;
};

static const struct member device_members[] = {
    {"gpu_util", percent, UTILIZATION},  {"encode", percent, ENCODER},
    {"decode", percent, DECODER},        {"encode_decode", percent, CODEC},
    {"mem_util", percent, MEMORY_SHARE}, /* how full it is, not how busy */
    {"mem_total", bytes, MEMORY_TOTAL},  {"mem_used", bytes, MEMORY_USED},
    {"mem_free", bytes, MEMORY_FREE},    {"temp", celsius, TEMPERATURE},
    {"power_draw", watts, POWER},        {"gpu_clock", hertz, CLOCK_GRAPHICS},
    {"mem_clock", hertz, CLOCK_MEMORY},  {"fan_speed", percent, FAN},
    {"fan_speed", rpm, FAN_SPEED},       {NULL, NULL, NVTOP_METRICS},
};

static const struct member process_members[] = {
    {"gpu_mem_bytes_alloc", bytes, PROCESS_MEMORY},
    {"gpu_usage", percent, PROCESS_UTILIZATION},
    {"encode", percent, PROCESS_ENCODER},
    {"decode", percent, PROCESS_DECODER},
    {"encode_decode", percent, CODEC},
    {NULL, NULL, NVTOP_METRICS},
};

/* NaN: nothing was said. */
struct device {
    double values[NVTOP_METRICS];
    char name[NVTOP_TEXT];
    bool has_processes;
    uint32_t unread_metrics; /* bits: a value was there, but had no meaning for us */
    char unread[96];         /* the first such */
    const char *processes;   /* behind the opening bracket, for the second look */
};

struct process {
    double values[NVTOP_METRICS];
    int32_t pid;
    char command[NVTOP_TEXT];
    char kind[32];
    char user[64];
};

struct fill {
    const struct tacho_host *host;
    const struct nvtop_options *options;
    struct tacho_batch *batch;
    const char *end;
};

/* ---- values ---------------------------------------------------------------------------------- */

/* The number before one of these units, or NaN. */
static double parse_value(const char *text, const struct unit *units)
{
    char *suffix;
    errno = 0;
    if (!isdigit((unsigned char)text[0]) && text[0] != '-') {
        return NAN; /* strtod also takes "nan" and "infinity" */
    }
    double number = strtod(text, &suffix);
    if (suffix == text || errno || !isfinite(number)) {
        return NAN;
    }
    while (*suffix == ' ') {
        suffix++;
    }
    for (; units->suffix; units++) {
        if (strcmp(suffix, units->suffix) == 0) {
            return (number + units->offset) * units->factor;
        }
    }
    return NAN;
}

/* Takes a member if the table has it. Returns the metrics (as bits) that its text has no unit for.
 */
static uint32_t take_member(const struct member *members, const char *name, const char *text,
                            double *values)
{
    uint32_t unread = 0;
    for (; members->name; members++) {
        if (strcmp(name, members->name) == 0) {
            double value = parse_value(text, members->units);
            if (!isnan(value)) {
                values[members->metric] = value;
                return 0;
            }
            unread |= UINT32_C(1) << members->metric;
        }
    }
    return unread;
}

static void clear_values(double *values)
{
    for (int i = 0; i < NVTOP_METRICS; i++) {
        values[i] = NAN;
    }
}

static void put(const struct fill *fill, enum nvtop_metric metric, double value, int reason)
{
    if (isnan(value)) {
        fill->host->absent(fill->batch, (int32_t)metric, reason);
    } else {
        fill->host->f64(fill->batch, (int32_t)metric, value);
    }
}

/* ---- processes ------------------------------------------------------------------------------- */

static void take_process_text(struct process *process, const char *name, const char *text)
{
    char *place = NULL;
    size_t size = 0;
    if (strcmp(name, "pid") == 0) {
        long pid = strtol(text, NULL, 10);
        process->pid = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : 0;
    } else if (strcmp(name, "cmdline") == 0) {
        place = process->command, size = sizeof process->command;
    } else if (strcmp(name, "kind") == 0) {
        place = process->kind, size = sizeof process->kind;
    } else if (strcmp(name, "user") == 0) {
        place = process->user, size = sizeof process->user;
    } else {
        (void)take_member(process_members, name, text, process->values);
    }
    if (place) {
        (void)snprintf(place, size, "%s", text);
    }
}

/* Reads one, from behind its opening brace; false when it is cut. */
static bool read_process(struct nvtop_json *json, struct process *out)
{
    char name[64];
    char text[NVTOP_TEXT];
    memset(out, 0, sizeof *out);
    clear_values(out->values);
    for (;;) {
        enum nvtop_kind kind = nvtop_json_next(json, name, sizeof name);
        if (kind == NVTOP_END || kind == NVTOP_CLOSE) {
            return kind == NVTOP_CLOSE;
        }
        if (kind == NVTOP_TEXT_VALUE && nvtop_json_colon(json)) {
            kind = nvtop_json_next(json, text, sizeof text);
            if (kind == NVTOP_TEXT_VALUE) {
                take_process_text(out, name, text);
            }
        }
        if ((kind == NVTOP_ARRAY || kind == NVTOP_OBJECT) && !nvtop_json_skip(json)) {
            return false;
        }
        if (kind == NVTOP_CLOSE) {
            return true;
        }
    }
}

static const char *process_type(const char *kind)
{
    if (strcmp(kind, "graphic & compute") == 0) {
        return "mixed";
    }
    return strcmp(kind, "graphic") == 0 ? "graphics" : kind;
}

static void put_label(const struct fill *fill, const char *name, const char *value)
{
    if (value[0]) {
        fill->host->label(fill->batch, name, value);
    }
}

/* Who it is, from the host when the number means something here; else what nvtop says. */
static void identify(const struct fill *fill, const struct process *process,
                     struct tacho_process *out)
{
    const struct tacho_host *host = fill->host;
    const char *proc = fill->options->proc;
    struct tacho_err err = {0};
    *out = (struct tacho_process){.struct_size = sizeof *out};
    if (!TACHO_HOST_HAS(host, process) || !TACHO_HOST_HAS(host, process_sees_host) ||
        !host->process_sees_host(proc) ||
        host->process(proc, process->pid, out, &err) != TACHO_OK) {
        *out = (struct tacho_process){.struct_size = sizeof *out};
    }
    if (!out->user[0]) {
        (void)snprintf(out->user, sizeof out->user, "%s", process->user);
    }
    if (!out->command[0]) {
        (void)snprintf(out->command, sizeof out->command, "%.255s",
                       process->command[0] ? process->command : out->name);
    }
}

static void put_process(const struct fill *fill, const struct process *process, int32_t parent)
{
    struct tacho_process who;
    char key[48];
    char pid[16];
    identify(fill, process, &who);
    (void)snprintf(key, sizeof key, "%" PRId32 ":%" PRIu64, process->pid, who.start_ticks);
    (void)snprintf(pid, sizeof pid, "%" PRId32, process->pid);
    (void)fill->host->entity(fill->batch, "process", key, parent, TACHO_VOLATILE);
    put_label(fill, "pid", pid);
    put_label(fill, "user", who.user);
    put_label(fill, "command", who.command);
    put_label(fill, "type", process_type(process->kind));
    put_label(fill, "container", who.container);
    put_label(fill, "runtime", who.runtime);
    put_label(fill, "pod", who.pod);
    put_label(fill, "job", who.job);
    put_label(fill, "unit", who.unit);
    for (const struct member *member = process_members; member->name; member++) {
        put(fill, member->metric, process->values[member->metric], TACHO_ABSENT_UNSUPPORTED);
    }
}

/* Goes through the processes of a device: counts and adds up when parent is -1, else writes them.
 */
static void each_process(const struct fill *fill, struct device *device, int32_t parent)
{
    struct nvtop_json json = {device->processes, fill->end};
    struct process process;
    char text[8];
    uint32_t count = 0;
    double sum = 0; /* NaN as soon as one does not say */
    for (;;) {
        enum nvtop_kind kind = nvtop_json_next(&json, text, sizeof text);
        if (kind == NVTOP_END || kind == NVTOP_CLOSE) {
            break;
        }
        if (kind == NVTOP_OBJECT && read_process(&json, &process) && process.pid > 0) {
            if (parent >= 0 && count < PROCESS_LIMIT) {
                put_process(fill, &process, parent);
            }
            count++;
            sum += process.values[PROCESS_MEMORY];
        }
    }
    device->values[PROCESSES] = count;
    double rest = device->values[MEMORY_USED] - sum;
    device->values[MEMORY_REST] = rest < 0 ? 0 : rest;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Takes one member of a device; false when the output is cut in it. */
static bool take_device_member(struct nvtop_json *json, struct device *device, const char *name,
                               bool *out_closed)
{
    char text[NVTOP_TEXT];
    enum nvtop_kind kind = nvtop_json_next(json, text, sizeof text);
    *out_closed = kind == NVTOP_CLOSE;
    if (kind == NVTOP_ARRAY && strcmp(name, "processes") == 0) {
        device->has_processes = true;
        device->processes = json->at;
    }
    if (kind == NVTOP_ARRAY || kind == NVTOP_OBJECT) {
        return nvtop_json_skip(json);
    }
    if (kind == NVTOP_TEXT_VALUE && strcmp(name, "device_name") == 0) {
        (void)snprintf(device->name, sizeof device->name, "%s", text);
    } else if (kind == NVTOP_TEXT_VALUE && strcmp(text, "CPU Fan") != 0) {
        uint32_t unread = take_member(device_members, name, text, device->values);
        if (unread && !device->unread[0]) {
            (void)snprintf(device->unread, sizeof device->unread, "%.31s is \"%.48s\"", name, text);
        }
        device->unread_metrics |= unread;
    }
    return kind != NVTOP_END;
}

static bool read_device(struct nvtop_json *json, struct device *out)
{
    char name[64];
    bool closed = false;
    memset(out, 0, sizeof *out);
    clear_values(out->values);
    while (!closed) {
        enum nvtop_kind kind = nvtop_json_next(json, name, sizeof name);
        closed = kind == NVTOP_CLOSE;
        if (kind == NVTOP_END) {
            return false;
        }
        if ((kind == NVTOP_ARRAY || kind == NVTOP_OBJECT) && !nvtop_json_skip(json)) {
            return false;
        }
        if (kind == NVTOP_TEXT_VALUE && nvtop_json_colon(json) &&
            !take_device_member(json, out, name, &closed)) {
            return false;
        }
    }
    return true;
}

/* Whose it is, when the name says so. */
static const char *guess_vendor(const char *name)
{
    static const char *const marks[][2] = {
        {"nvidia", "nvidia"},   {"geforce", "nvidia"}, {"tesla", "nvidia"},  {"quadro", "nvidia"},
        {"amd", "amd"},         {"radeon", "amd"},     {"intel", "intel"},   {"apple", "apple"},
        {"adreno", "qualcomm"}, {"mali", "arm"},       {"ascend", "huawei"}, {"gaudi", "intel"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        const char *found = strcasestr(name, marks[i][0]);
        if (found && (found == name || !isalpha((unsigned char)found[-1]))) {
            return marks[i][1];
        }
    }
    return "";
}

/* "NVIDIA L40S" to "nvidia-l40s". */
static void write_slug(const char *name, char *out, size_t size)
{
    size_t used = 0;
    for (; *name && used + 1 < size; name++) {
        if (isalnum((unsigned char)*name)) {
            out[used++] = (char)tolower((unsigned char)*name);
        } else if (used > 0 && out[used - 1] != '-') {
            out[used++] = '-';
        }
    }
    while (used > 0 && out[used - 1] == '-') {
        used--;
    }
    out[used] = '\0';
}

static bool says_something(const struct device *device)
{
    for (const struct member *member = device_members; member->name; member++) {
        if (!isnan(device->values[member->metric])) {
            return true;
        }
    }
    return false;
}

static void put_device(const struct fill *fill, struct device *device, uint32_t index)
{
    char slug[96];
    char key[128];
    char number[16];
    const char *name = device->name[0] ? device->name : "unknown";
    write_slug(name, slug, sizeof slug);
    (void)snprintf(key, sizeof key, "nvtop-%" PRIu32 "-%s", index, slug);
    (void)snprintf(number, sizeof number, "%" PRIu32, index);
    int32_t entity = fill->host->entity(fill->batch, "gpu", key, -1, 0);
    put_label(fill, "index", number);
    put_label(fill, "name", name);
    put_label(fill, "vendor", guess_vendor(name));
    put_label(fill, "identity", "weak");
    bool silent = !says_something(device);
    if (device->has_processes && !silent) {
        each_process(fill, device, -1);
    }
    if (silent) {
        fill->host->absent(fill->batch, STATUS, TACHO_ABSENT_ERROR);
    } else {
        fill->host->text(fill->batch, STATUS, "ok");
    }
    for (int metric = UTILIZATION; metric <= PROCESSES; metric++) {
        bool wrong = silent || device->unread_metrics >> metric & 1;
        put(fill, (enum nvtop_metric)metric, device->values[metric],
            wrong ? TACHO_ABSENT_ERROR : TACHO_ABSENT_UNSUPPORTED);
    }
    if (device->has_processes && fill->options->processes) {
        each_process(fill, device, entity);
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* What stands there instead of an array. */
static int judge_text(const char *data, size_t length, struct tacho_err *err)
{
    static const char none[] = "No GPU";
    while (length > 0 && isspace((unsigned char)*data)) {
        data++, length--;
    }
    if (length == 0) {
        return tacho_fail(err, TACHO_RETRY, "nvtop printed nothing");
    }
    if (length >= sizeof none - 1 && memcmp(data, none, sizeof none - 1) == 0) {
        return tacho_fail(err, TACHO_NO_DATA, "nvtop found no GPU");
    }
    char begin[48];
    struct nvtop_json json = {data, data + length};
    (void)nvtop_json_next(&json, begin, sizeof begin);
    return tacho_fail(err, TACHO_RETRY, "nvtop printed \"%s…\" where an array was expected", begin);
}

/* What is missing in an array that was read. */
struct tally {
    uint32_t devices, silent;
    bool cut;
    char unread[128];
};

static int judge_devices(const struct tally *tally, struct tacho_err *err)
{
    if (tally->cut) {
        return tacho_fail(err, tally->devices ? TACHO_PARTIAL : TACHO_RETRY,
                          "the output of nvtop is cut after %" PRIu32 " devices", tally->devices);
    }
    if (tally->silent > 0) {
        return tacho_fail(err, TACHO_PARTIAL,
                          "nvtop tells nothing but the name of %" PRIu32 " of %" PRIu32 " devices",
                          tally->silent, tally->devices);
    }
    if (tally->unread[0]) {
        return tacho_fail(err, TACHO_PARTIAL, "nvtop: %s, which is not understood", tally->unread);
    }
    return tally->devices ? TACHO_OK : tacho_fail(err, TACHO_NO_DATA, "nvtop lists no device");
}

int nvtop_fill(const struct tacho_host *host, const struct nvtop_options *options,
               struct tacho_batch *batch, const char *data, size_t length, struct tacho_err *err)
{
    const struct fill fill = {host, options, batch, data + length};
    struct nvtop_json json = {data, data + length};
    struct tally tally = {.cut = true};
    struct device device;
    char text[8];
    if (nvtop_json_array(data, length) < 0 ||
        nvtop_json_next(&json, text, sizeof text) != NVTOP_ARRAY) {
        return judge_text(data, length, err);
    }
    while (tally.devices < DEVICE_LIMIT) {
        enum nvtop_kind kind = nvtop_json_next(&json, text, sizeof text);
        tally.cut = kind != NVTOP_CLOSE;
        if (kind != NVTOP_OBJECT || !read_device(&json, &device)) {
            break;
        }
        tally.silent += !says_something(&device);
        if (device.unread[0] && !tally.unread[0]) {
            (void)snprintf(tally.unread, sizeof tally.unread, "%s of device %" PRIu32,
                           device.unread, tally.devices);
        }
        put_device(&fill, &device, tally.devices++);
    }
    return judge_devices(&tally, err);
}
