/* SPDX-License-Identifier: MIT */
/* How busy the engines of a GPU are, by the driver's own averages. */
#include "plugins/nvml/device.h"

typedef int engine_call(nv_device handle, uint32_t *percent, uint32_t *period_us);

static void read_engine(struct device *device, struct reading *reading, int32_t metric,
                        engine_call *call)
{
    uint32_t percent = 0, period_us = 0;
    if (device_wants(device, reading, metric)) {
        int code =
            call ? call(device->identity.handle, &percent, &period_us) : NV_FUNCTION_NOT_FOUND;
        device_put_i64(device, reading, metric, code, percent);
    }
}

void read_load(struct device *device, struct reading *reading)
{
    struct nv_utilization load = {.gpu = 0};
    if (device_wants(device, reading, M_UTILIZATION)) {
        int code = NVML_CALL(device->lib, utilization, device->identity.handle, &load);
        device_put_i64(device, reading, M_UTILIZATION, code, load.gpu);
        device_put_i64(device, reading, M_MEMORY_UTILIZATION, code, load.memory);
    } else {
        (void)device_wants(device, reading, M_MEMORY_UTILIZATION);
    }
    read_engine(device, reading, M_ENCODER_UTILIZATION, device->lib->encoder_utilization);
    read_engine(device, reading, M_DECODER_UTILIZATION, device->lib->decoder_utilization);
    read_engine(device, reading, M_JPEG_UTILIZATION, device->lib->jpeg_utilization);
    read_engine(device, reading, M_OFA_UTILIZATION, device->lib->ofa_utilization);
}
