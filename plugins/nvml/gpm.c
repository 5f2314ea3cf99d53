/* SPDX-License-Identifier: MIT */
/* GPM: two samples of hardware counters, at least 100 ms apart, and what the library makes of them;
 * see gpm.h. */
#include "plugins/nvml/gpm.h"

#include <stdlib.h>

#include "plugins/nvml/generation.h"

#define LEAST_NS (INT64_C(100) * 1000000)
#define MIB 1048576.0

static const struct {
    uint32_t gpm;
    int32_t metric;
} rows[] = {
    {NV_GPM_GRAPHICS, M_ACTIVITY_GRAPHICS},   {NV_GPM_SM, M_ACTIVITY_SM},
    {NV_GPM_OCCUPANCY, M_ACTIVITY_OCCUPANCY}, {NV_GPM_TENSOR, M_ACTIVITY_TENSOR},
    {NV_GPM_DRAM, M_ACTIVITY_DRAM},           {NV_GPM_INTEGER, M_ACTIVITY_INTEGER},
    {NV_GPM_FP64, M_ACTIVITY_FP64},           {NV_GPM_FP32, M_ACTIVITY_FP32},
    {NV_GPM_FP16, M_ACTIVITY_FP16},           {NV_GPM_PCIE_TX, M_PCIE_SENT},
    {NV_GPM_PCIE_RX, M_PCIE_RECEIVED},
};

/* The traffic of the bus is the whole GPU's, and the driver's own call may tell it already. */
static uint32_t row_count(const struct device *device, uint32_t instance)
{
    bool bus = instance == NV_NO_INSTANCE && !device->generation->pcie_throughput;
    return TACHO_COUNT(rows) - (bus ? 0 : 2);
}

void gpm_fini(struct gpm *gpm, const struct nvml_lib *lib)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (gpm->samples[i]) {
            (void)NVML_CALL(lib, gpm_free, gpm->samples[i]);
        }
    }
    *gpm = (struct gpm){.begun = false};
}

/* What cannot be had of the whole GPU is remembered; of an instance it may come with the next. */
static void put_code(struct device *device, struct reading *reading, uint32_t instance, int code)
{
    for (uint32_t i = 0; i < row_count(device, instance); i++) {
        if (instance == NV_NO_INSTANCE) {
            (void)device_note(device, reading, rows[i].metric, code);
        } else {
            device_answer(device, code);
            reading_absent(reading, rows[i].metric, nvml_code_reason(code));
        }
    }
}

static int support(struct device *device)
{
    struct nv_gpm_support support = {.version = NV_GPM_VERSION};
    int code = NVML_CALL(device->lib, gpm_support, device->identity.handle, &support);
    return code == NV_SUCCESS && !support.supported ? NV_NOT_SUPPORTED : code;
}

static int allocate(struct device *device, struct gpm *gpm)
{
    int code = gpm->samples[0] ? NV_SUCCESS : support(device);
    for (uint32_t i = 0; i < 2 && code == NV_SUCCESS; i++) {
        if (!gpm->samples[i]) {
            code = NVML_CALL(device->lib, gpm_alloc, &gpm->samples[i]);
        }
    }
    return code;
}

static int take_sample(struct device *device, nv_gpm_sample sample, uint32_t instance)
{
    nv_device handle = device->identity.handle;
    return instance == NV_NO_INSTANCE
               ? NVML_CALL(device->lib, gpm_sample, handle, sample)
               : NVML_CALL(device->lib, gpm_mig_sample, handle, instance, sample);
}

static void put_metrics(struct device *device, struct reading *reading, struct gpm *gpm,
                        uint32_t instance)
{
    struct nv_gpm_metrics *request = device->gpm_request;
    request->version = NV_GPM_VERSION;
    request->count = row_count(device, instance);
    request->from = gpm->samples[!gpm->newest];
    request->to = gpm->samples[gpm->newest];
    for (uint32_t i = 0; i < request->count; i++) {
        request->metrics[i] = (struct nv_gpm_metric){.metric = rows[i].gpm};
    }
    int code = NVML_CALL(device->lib, gpm_metrics, request);
    if (code != NV_SUCCESS) {
        put_code(device, reading, instance, code);
        return;
    }
    for (uint32_t i = 0; i < request->count; i++) {
        const struct nv_gpm_metric *metric = &request->metrics[i];
        double scale = metric->metric >= NV_GPM_PCIE_TX ? MIB : 1;
        if (instance == NV_NO_INSTANCE) {
            device_put_f64(device, reading, rows[i].metric, metric->code, metric->value * scale);
        } else if (metric->code == NV_SUCCESS) {
            reading_f64(reading, rows[i].metric, metric->value * scale);
        } else {
            reading_absent(reading, rows[i].metric, nvml_code_reason(metric->code));
        }
    }
}

void gpm_read(struct device *device, struct reading *reading, struct gpm *gpm, uint32_t instance)
{
    bool second = gpm->begun;
    if (gpm->begun && device->begin_ns - gpm->at_ns < LEAST_NS) {
        put_code(device, reading, instance, NV_NO_DATA);
        return;
    }
    int code = allocate(device, gpm);
    if (code == NV_SUCCESS) {
        code = take_sample(device, gpm->samples[!gpm->newest], instance);
    }
    if (code != NV_SUCCESS) {
        gpm->begun = false;
        put_code(device, reading, instance, code);
        return;
    }
    gpm->newest = !gpm->newest;
    gpm->begun = true;
    gpm->at_ns = device->begin_ns;
    if (second) {
        put_metrics(device, reading, gpm, instance);
    } else {
        put_code(device, reading, instance, NV_NO_DATA);
    }
}

void read_activity(struct device *device, struct reading *reading)
{
    if (device_wants(device, reading, M_ACTIVITY_SM)) {
        gpm_read(device, reading, device->gpm, NV_NO_INSTANCE);
        return;
    }
    for (uint32_t i = 0; i < row_count(device, NV_NO_INSTANCE); i++) {
        if (rows[i].metric != M_ACTIVITY_SM) {
            (void)device_wants(device, reading, rows[i].metric);
        }
    }
}

int gpm_init(struct device *device)
{
    device->gpm = calloc(1, sizeof *device->gpm);
    device->gpm_request = calloc(1, sizeof *device->gpm_request);
    return device->gpm && device->gpm_request ? TACHO_OK : TACHO_RETRY;
}
