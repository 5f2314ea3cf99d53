/* SPDX-License-Identifier: MIT */
/* Device memory and BAR1. The newer call tells what the driver keeps for itself apart; by the older
 * one that counts as used. */
#include "plugins/nvml/read_memory.h"

#include "plugins/nvml/device.h"

int memory_ask(const struct nvml_lib *lib, nv_device handle, struct nv_memory_v2 *out,
               bool *out_reserved)
{
    struct nv_memory older = {.total = 0};
    *out = (struct nv_memory_v2){.version = NV_VERSION(struct nv_memory_v2, 2)};
    *out_reserved = true;
    int code = NVML_CALL(lib, memory_v2, handle, out);
    if (nvml_code_is_lasting(code) || code == NV_ARGUMENT_VERSION_MISMATCH ||
        code == NV_INVALID_ARGUMENT) {
        *out_reserved = false;
        code = NVML_CALL(lib, memory, handle, &older);
        out->total = older.total;
        out->free = older.free;
        out->used = older.used;
    }
    /* Memory that is the host's is told as none by some drivers. */
    return code == NV_SUCCESS && out->total == 0 ? NV_NOT_SUPPORTED : code;
}

static void read_framebuffer(struct device *device, struct reading *reading)
{
    struct nv_memory_v2 memory;
    bool reserved;
    if (!device_wants(device, reading, M_MEMORY_TOTAL)) {
        (void)device_wants(device, reading, M_MEMORY_USED);
        (void)device_wants(device, reading, M_MEMORY_FREE);
        (void)device_wants(device, reading, M_MEMORY_RESERVED);
        return;
    }
    int code = memory_ask(device->lib, device->identity.handle, &memory, &reserved);
    device_put_i64(device, reading, M_MEMORY_TOTAL, code, (int64_t)memory.total);
    device_put_i64(device, reading, M_MEMORY_USED, code, (int64_t)memory.used);
    device_put_i64(device, reading, M_MEMORY_FREE, code, (int64_t)memory.free);
    device_put_i64(device, reading, M_MEMORY_RESERVED,
                   code == NV_SUCCESS && !reserved ? NV_NOT_SUPPORTED : code,
                   (int64_t)memory.reserved);
}

void read_memory(struct device *device, struct reading *reading)
{
    struct nv_bar1 bar1 = {.total = 0};
    read_framebuffer(device, reading);
    if (!device_wants(device, reading, M_BAR1_TOTAL)) {
        (void)device_wants(device, reading, M_BAR1_USED);
        (void)device_wants(device, reading, M_BAR1_FREE);
        return;
    }
    int code = NVML_CALL(device->lib, bar1, device->identity.handle, &bar1);
    device_put_i64(device, reading, M_BAR1_TOTAL, code, (int64_t)bar1.total);
    device_put_i64(device, reading, M_BAR1_USED, code, (int64_t)bar1.used);
    device_put_i64(device, reading, M_BAR1_FREE, code, (int64_t)bar1.free);
}
