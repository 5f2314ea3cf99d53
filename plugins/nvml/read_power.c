/* SPDX-License-Identifier: MIT */
/* Temperature, clocks, what holds them down, and energy. Power itself comes by fields. */
#include "plugins/nvml/device.h"

#define MHZ INT64_C(1000000)

static void read_temperature(struct device *device, struct reading *reading)
{
    struct nv_temperature newer = {.version = NV_VERSION(struct nv_temperature, 1)};
    struct nv_margin margin = {.version = NV_VERSION(struct nv_margin, 1)};
    nv_device handle = device->identity.handle;
    uint32_t older = 0;
    if (device_wants(device, reading, M_TEMPERATURE)) {
        int code = NVML_CALL(device->lib, temperature_v, handle, &newer);
        int64_t celsius = newer.celsius;
        if (nvml_code_is_lasting(code) || code == NV_ARGUMENT_VERSION_MISMATCH) {
            code = NVML_CALL(device->lib, temperature, handle, 0, &older);
            celsius = older;
        }
        device_put_i64(device, reading, M_TEMPERATURE, code, celsius);
    }
    if (device_wants(device, reading, M_TEMPERATURE_MARGIN)) {
        int code = NVML_CALL(device->lib, margin, handle, &margin);
        device_put_i64(device, reading, M_TEMPERATURE_MARGIN, code, margin.celsius);
    }
}

static void read_clocks(struct device *device, struct reading *reading)
{
    static const struct {
        uint32_t clock;
        int32_t metric;
    } rows[] = {{NV_CLOCK_GRAPHICS, M_CLOCK_GRAPHICS},
                {NV_CLOCK_SM, M_CLOCK_SM},
                {NV_CLOCK_MEMORY, M_CLOCK_MEMORY},
                {NV_CLOCK_VIDEO, M_CLOCK_VIDEO}};
    for (size_t i = 0; i < TACHO_COUNT(rows); i++) {
        uint32_t mhz = 0;
        if (device_wants(device, reading, rows[i].metric)) {
            int code = NVML_CALL(device->lib, clock, device->identity.handle, rows[i].clock, &mhz);
            device_put_i64(device, reading, rows[i].metric, code, mhz * MHZ);
        }
    }
}

void read_power(struct device *device, struct reading *reading)
{
    uint64_t bits = 0, millijoules = 0;
    read_temperature(device, reading);
    read_clocks(device, reading);
    if (device_wants(device, reading, M_THROTTLE)) {
        int code = NVML_CALL(device->lib, throttle, device->identity.handle, &bits);
        device_put_flags(device, reading, M_THROTTLE, code, bits & 0x1ff);
    }
    if (device_wants(device, reading, M_ENERGY)) {
        int code = NVML_CALL(device->lib, energy, device->identity.handle, &millijoules);
        device_put_f64(device, reading, M_ENERGY, code, (double)millijoules / 1000);
    }
}
