/* SPDX-License-Identifier: MIT */
/*
 * Samples that the driver took by itself since the last tick, many in a second, summed up: so that
 * a reading each second shows what happened in between. No sample is counted twice, and none from
 * before the first tick.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/device.h"

#define SAMPLE_LIMIT 16384
#define TYPES 3

static const struct {
    uint32_t type;
    int32_t metric;
    double scale;
    bool integral; /* over time it means something */
} rows[TYPES] = {
    {NV_SAMPLES_POWER, M_POWER_SAMPLED, 1e-3, true},
    {NV_SAMPLES_GPU, M_UTILIZATION_SAMPLED, 1, false},
    {NV_SAMPLES_MEMORY, M_MEMORY_UTILIZATION_SAMPLED, 1, false},
};

/* Of one device. */
struct samples {
    bool begun[TYPES];
    uint64_t last_us[TYPES]; /* stamp of the newest sample that was counted */
    uint32_t room;
    struct nv_sample *buffer;
    double *values;
};

int samples_init(struct device *device)
{
    device->samples = calloc(1, sizeof *device->samples);
    return device->samples ? TACHO_OK : TACHO_RETRY;
}

void samples_fini(struct device *device)
{
    if (device->samples) {
        free(device->samples->buffer);
        free(device->samples->values);
        free(device->samples);
        device->samples = NULL;
    }
}

void samples_restart(struct device *device)
{
    memset(device->samples->begun, 0, sizeof device->samples->begun);
}

/* Room for as many samples as the driver keeps. */
static int make_room(struct device *device, uint32_t type)
{
    struct samples *samples = device->samples;
    uint32_t count = 0;
    int32_t value_type = 0;
    int code = NVML_CALL(device->lib, samples, device->identity.handle, type, 0, &value_type,
                         &count, NULL);
    count = count < SAMPLE_LIMIT ? count : SAMPLE_LIMIT;
    if (code != NV_SUCCESS || count <= samples->room) {
        return code;
    }
    free(samples->buffer);
    free(samples->values);
    samples->buffer = calloc(count, sizeof *samples->buffer);
    samples->values = calloc(count, sizeof *samples->values);
    samples->room = samples->buffer && samples->values ? count : 0;
    return samples->room ? NV_SUCCESS : NV_MEMORY;
}

static double number(int32_t type, const union nv_value *value)
{
    switch (type) {
    case NV_VALUE_DOUBLE: return value->f64;
    case NV_VALUE_UINT: return value->u32;
    case NV_VALUE_INT: return value->i32;
    case NV_VALUE_LONGLONG: return (double)value->i64;
    default: return (double)value->u64;
    }
}

static int compare(const void *a, const void *b)
{
    double left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

static double rank(const double *sorted, uint32_t count, double share)
{
    uint32_t at = (uint32_t)ceil(share * count);
    return sorted[at > 0 ? at - 1 : 0];
}

/* Sorts the values. */
static void sum_up(double *values, uint32_t count, struct tacho_summary *out)
{
    double sum = 0, squares = 0;
    qsort(values, count, sizeof *values, compare);
    for (uint32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    out->count = count;
    out->min = values[0];
    out->max = values[count - 1];
    out->mean = sum / count;
    for (uint32_t i = 0; i < count; i++) {
        squares += (values[i] - out->mean) * (values[i] - out->mean);
    }
    out->stddev = sqrt(squares / count);
    out->p50 = rank(values, count, 0.50);
    out->p90 = rank(values, count, 0.90);
    out->p95 = rank(values, count, 0.95);
    out->p99 = rank(values, count, 0.99);
}

/* Takes the samples that are new; each holds from the stamp before it to its own. */
static uint32_t take(struct samples *samples, uint32_t row, uint32_t count, int32_t type,
                     double *out_integral)
{
    uint32_t taken = 0;
    uint64_t last_us = samples->last_us[row];
    *out_integral = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct nv_sample *sample = &samples->buffer[i];
        if (sample->timestamp_us <= last_us) {
            continue;
        }
        double value = number(type, &sample->value) * rows[row].scale;
        *out_integral += last_us ? value * (double)(sample->timestamp_us - last_us) / 1e6 : 0;
        last_us = sample->timestamp_us;
        samples->values[taken++] = value;
    }
    samples->last_us[row] = last_us;
    return taken;
}

static void read_row(struct device *device, struct reading *reading, uint32_t row)
{
    struct samples *samples = device->samples;
    struct tacho_summary summary;
    int32_t metric = rows[row].metric, type = NV_VALUE_UINT;
    bool begun = samples->begun[row];
    int code = begun ? NV_SUCCESS : make_room(device, rows[row].type);
    uint32_t count = samples->room, taken = 0;
    if (code == NV_SUCCESS) {
        code = NVML_CALL(device->lib, samples, device->identity.handle, rows[row].type,
                         samples->last_us[row], &type, &count, samples->buffer);
    }
    if (code == NV_SUCCESS || code == NV_NOT_FOUND) {
        samples->begun[row] = true;
    }
    if (code == NV_SUCCESS) {
        count = count < samples->room ? count : samples->room;
        taken = take(samples, row, count, type, &summary.integral);
    }
    if (code == NV_SUCCESS && (!begun || taken == 0)) {
        code = NV_NO_DATA;
    }
    if (device_note(device, reading, metric, code)) {
        sum_up(samples->values, taken, &summary);
        summary.integral = rows[row].integral ? summary.integral : NAN;
        reading_summary(reading, metric, &summary);
    }
}

void read_samples(struct device *device, struct reading *reading)
{
    for (uint32_t row = 0; row < TYPES; row++) {
        if (device_wants(device, reading, rows[row].metric)) {
            read_row(device, reading, row);
        }
    }
}
