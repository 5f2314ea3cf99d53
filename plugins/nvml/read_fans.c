/* SPDX-License-Identifier: MIT */
/* Fans: each as an entity of its own, and the first one's values on the GPU as well, where other
 * providers have theirs. */
#include <inttypes.h>
#include <stdio.h>

#include "plugins/nvml/device.h"

#define FAN_LIMIT 16

struct fan {
    int percent_code, rpm_code;
    uint32_t percent, rpm;
};

static int ask_percent(struct device *device, uint32_t fan, uint32_t *out)
{
    int code = NVML_CALL(device->lib, fan_speed, device->identity.handle, fan, out);
    if (code == NV_FUNCTION_NOT_FOUND && fan == 0) {
        code = NVML_CALL(device->lib, fan_speed_v1, device->identity.handle, out);
    }
    return code;
}

static void ask_fan(struct device *device, uint32_t number, struct fan *out)
{
    struct nv_fan_speed speed = {.version = NV_VERSION(struct nv_fan_speed, 1), .fan = number};
    *out = (struct fan){.rpm_code = NV_NOT_SUPPORTED};
    out->percent_code = ask_percent(device, number, &out->percent);
    if (capability_wanted(&device->capabilities[M_FAN_SPEED], device->begin_ns)) {
        out->rpm_code = NVML_CALL(device->lib, fan_rpm, device->identity.handle, &speed);
        out->rpm = speed.rpm;
    }
}

static void put_fan(struct device *device, struct reading *reading, const struct fan *fan)
{
    device_put_i64(device, reading, M_FAN, fan->percent_code, fan->percent);
    device_put_i64(device, reading, M_FAN_SPEED, fan->rpm_code, fan->rpm);
}

static int ask_count(struct device *device, uint32_t *out)
{
    *out = 1;
    int code = NVML_CALL(device->lib, fan_count, device->identity.handle, out);
    if (code == NV_FUNCTION_NOT_FOUND) {
        return NV_SUCCESS; /* an old library: there may be one */
    }
    *out = *out < FAN_LIMIT ? *out : FAN_LIMIT;
    return code == NV_SUCCESS && *out == 0 ? NV_NOT_SUPPORTED : code;
}

void read_fans(struct device *device, struct reading *reading)
{
    struct fan fans[FAN_LIMIT];
    uint32_t count;
    if (!device_wants(device, reading, M_FAN)) {
        (void)device_wants(device, reading, M_FAN_SPEED);
        return;
    }
    int code = ask_count(device, &count);
    if (code != NV_SUCCESS) {
        put_fan(device, reading, &(struct fan){.percent_code = code, .rpm_code = code});
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        ask_fan(device, i, &fans[i]);
    }
    put_fan(device, reading, &fans[0]);
    for (uint32_t i = 0; i < count; i++) {
        char key[128], number[12];
        (void)snprintf(key, sizeof key, "%s/fan%" PRIu32, device->identity.known.uuid, i);
        (void)snprintf(number, sizeof number, "%" PRIu32, i);
        (void)reading_entity(reading, "fan", key, 0);
        reading_label(reading, "fan", number);
        put_fan(device, reading, &fans[i]);
    }
}
