/* SPDX-License-Identifier: MIT */
/*
 * Turns one array of devices into a batch. A value that nvtop has as null, or not at all, is
 * absent. Units are value.c's, processes process.c's.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "plugins/nvtop/fill.h"

#define DEVICE_LIMIT 256

/* NaN: nothing was said. */
struct device {
    double values[NVTOP_METRICS];
    char name[NVTOP_TEXT];
    bool has_processes;
    uint32_t unread_metrics; /* bits: a value was there, but had no meaning for us */
    char unread[96];         /* the first such */
    const char *processes;   /* behind the opening bracket, for the second look */
};

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
        uint32_t unread = nvtop_take_member(nvtop_device_members, name, text, device->values);
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
    nvtop_clear_values(out->values);
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
    for (const struct nvtop_member *member = nvtop_device_members; member->name; member++) {
        if (!isnan(device->values[member->metric])) {
            return true;
        }
    }
    return false;
}

static void count_processes(const struct nvtop_fill *fill, struct device *device)
{
    uint32_t count;
    double held;
    nvtop_each_process(fill, device->processes, -1, &count, &held);
    double rest = device->values[MEMORY_USED] - held;
    device->values[PROCESSES] = count;
    device->values[MEMORY_REST] = rest < 0 ? 0 : rest;
}

static void put_device(const struct nvtop_fill *fill, struct device *device, uint32_t index)
{
    uint32_t count;
    double held;
    char slug[96];
    char key[128];
    char number[16];
    const char *name = device->name[0] ? device->name : "unknown";
    write_slug(name, slug, sizeof slug);
    (void)snprintf(key, sizeof key, "nvtop-%" PRIu32 "-%s", index, slug);
    (void)snprintf(number, sizeof number, "%" PRIu32, index);
    int32_t entity = fill->host->entity(fill->batch, "gpu", key, -1, 0);
    nvtop_put_label(fill, "index", number);
    nvtop_put_label(fill, "name", name);
    nvtop_put_label(fill, "vendor", guess_vendor(name));
    nvtop_put_label(fill, "identity", "weak");
    bool silent = !says_something(device);
    if (device->has_processes && !silent) {
        count_processes(fill, device);
    }
    if (silent) {
        fill->host->absent(fill->batch, STATUS, TACHO_ABSENT_ERROR);
    } else {
        fill->host->text(fill->batch, STATUS, "ok");
    }
    for (int metric = UTILIZATION; metric <= PROCESSES; metric++) {
        bool wrong = silent || device->unread_metrics >> metric & 1;
        nvtop_put(fill, (enum nvtop_metric)metric, device->values[metric],
                  wrong ? TACHO_ABSENT_ERROR : TACHO_ABSENT_UNSUPPORTED);
    }
    if (device->has_processes && fill->options->processes) {
        nvtop_each_process(fill, device->processes, entity, &count, &held);
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
    const struct nvtop_fill fill = {host, options, batch, data + length};
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
