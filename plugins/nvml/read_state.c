/* SPDX-License-Identifier: MIT */
/* Modes and performance state of a GPU. */
#include <string.h>

#include "plugins/nvml/device.h"

static const char *const enabled_names[] = {"disabled", "enabled"};
static const char *const compute_names[] = {"default", "exclusive_thread", "prohibited",
                                            "exclusive_process"};

/* A number that stands for a word; one that has none is an error. */
static void put_word(struct device *device, struct reading *reading, int32_t metric, int code,
                     uint32_t number, const char *const *words, size_t count)
{
    if (code == NV_SUCCESS && number >= count) {
        code = NV_UNKNOWN;
    }
    device_put_text(device, reading, metric, code, code == NV_SUCCESS ? words[number] : "");
}

static void read_modes(struct device *device, struct reading *reading)
{
    nv_device handle = device->identity.handle;
    uint32_t now = 0, later = 0;
    if (device_wants(device, reading, M_PERSISTENCE_MODE)) {
        int code = NVML_CALL(device->lib, persistence_mode, handle, &now);
        put_word(device, reading, M_PERSISTENCE_MODE, code, now, enabled_names, 2);
    }
    if (device_wants(device, reading, M_COMPUTE_MODE)) {
        int code = NVML_CALL(device->lib, compute_mode, handle, &now);
        put_word(device, reading, M_COMPUTE_MODE, code, now, compute_names,
                 TACHO_COUNT(compute_names));
    }
    if (device_wants(device, reading, M_ECC_MODE)) {
        int code = NVML_CALL(device->lib, ecc_mode, handle, &now, &later);
        put_word(device, reading, M_ECC_MODE, code, now, enabled_names, 2);
    }
}

/* With MIG on, a GPU lacks much that it otherwise has: what was learned before is void, but for the
 * facts, which come first in the list. */
static void read_mig_mode(struct device *device, struct reading *reading)
{
    uint32_t now = 0, later = 0;
    bool before = device->mig;
    if (!device_wants(device, reading, M_MIG_MODE)) {
        return;
    }
    int code = NVML_CALL(device->lib, mig_mode, device->identity.handle, &now, &later);
    device->mig = code == NV_SUCCESS && now == 1;
    if (device->mig != before) {
        memset(&device->capabilities[M_STATUS], 0,
               (M_COUNT - M_STATUS) * sizeof device->capabilities[0]);
    }
    put_word(device, reading, M_MIG_MODE, code, now, enabled_names, 2);
}

void read_state(struct device *device, struct reading *reading)
{
    uint32_t pstate = 0;
    read_mig_mode(device, reading);
    if (device_wants(device, reading, M_PSTATE)) {
        int code = NVML_CALL(device->lib, pstate, device->identity.handle, &pstate);
        if (code == NV_SUCCESS && pstate >= NV_PSTATE_UNKNOWN) {
            code = NV_NO_DATA;
        }
        device_put_i64(device, reading, M_PSTATE, code, pstate);
    }
    read_modes(device, reading);
}
