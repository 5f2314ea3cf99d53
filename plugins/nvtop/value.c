/* SPDX-License-Identifier: MIT */
/* Texts with units become numbers in base units, and numbers become values of a batch. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvtop/fill.h"

#define MIB 1048576.0

/* How a unit is written, and what one of it is in the metric's own unit. */
struct nvtop_unit {
    const char *suffix;
    double factor, offset;
};

static const struct nvtop_unit percent[] = {{"%", 1, 0}, {NULL, 0, 0}};
static const struct nvtop_unit rpm[] = {{"RPM", 1, 0}, {NULL, 0, 0}};
static const struct nvtop_unit watts[] = {{"W", 1, 0}, {"mW", 0.001, 0}, {NULL, 0, 0}};
static const struct nvtop_unit hertz[] = {{"MHz", 1e6, 0}, {"GHz", 1e9, 0}, {NULL, 0, 0}};
static const struct nvtop_unit celsius[] = {{"C", 1, 0}, {"F", 5.0 / 9, -32}, {NULL, 0, 0}};
static const struct nvtop_unit bytes[] = {
    {"", 1, 0},  {"B", 1, 0}, {"KiB", 1024, 0}, {"MiB", MIB, 0}, {"GiB", MIB * 1024, 0},
    {NULL, 0, 0}};

const struct nvtop_member nvtop_device_members[] = {
    {"gpu_util", percent, UTILIZATION},  {"encode", percent, ENCODER},
    {"decode", percent, DECODER},        {"encode_decode", percent, CODEC},
    {"mem_util", percent, MEMORY_SHARE}, /* how full it is, not how busy */
    {"mem_total", bytes, MEMORY_TOTAL},  {"mem_used", bytes, MEMORY_USED},
    {"mem_free", bytes, MEMORY_FREE},    {"temp", celsius, TEMPERATURE},
    {"power_draw", watts, POWER},        {"gpu_clock", hertz, CLOCK_GRAPHICS},
    {"mem_clock", hertz, CLOCK_MEMORY},  {"fan_speed", percent, FAN},
    {"fan_speed", rpm, FAN_SPEED},       {NULL, NULL, NVTOP_METRICS},
};

const struct nvtop_member nvtop_process_members[] = {
    {"gpu_mem_bytes_alloc", bytes, PROCESS_MEMORY},
    {"gpu_usage", percent, PROCESS_UTILIZATION},
    {"encode", percent, PROCESS_ENCODER},
    {"decode", percent, PROCESS_DECODER},
    {"encode_decode", percent, CODEC},
    {NULL, NULL, NVTOP_METRICS},
};

/* The number before one of these units, or NaN. */
static double parse_value(const char *text, const struct nvtop_unit *units)
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

uint32_t nvtop_take_member(const struct nvtop_member *members, const char *name, const char *text,
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

void nvtop_clear_values(double *values)
{
    for (int i = 0; i < NVTOP_METRICS; i++) {
        values[i] = NAN;
    }
}

void nvtop_put(const struct nvtop_fill *fill, enum nvtop_metric metric, double value, int reason)
{
    if (isnan(value)) {
        fill->host->absent(fill->batch, (int32_t)metric, reason);
    } else {
        fill->host->f64(fill->batch, (int32_t)metric, value);
    }
}

void nvtop_put_label(const struct nvtop_fill *fill, const char *name, const char *value)
{
    if (value[0]) {
        fill->host->label(fill->batch, name, value);
    }
}
