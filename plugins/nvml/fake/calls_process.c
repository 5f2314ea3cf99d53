/* SPDX-License-Identifier: MIT */
/* The fake library: processes in each of the layouts that drivers had, and events. */
#include <string.h>

#include "plugins/nvml/fake/api.h"

/* Writes entries of so many bytes (0: as the script says); INSUFFICIENT_SIZE tells how many there
 * are. */
static int give_processes(nv_device device, const char *function, uint32_t list, uint32_t bytes,
                          uint32_t *count, void *out)
{
    uint32_t found = 0, room = *count;
    int code = fake_begin(device, false, function);
    if (code != NV_SUCCESS) {
        return code;
    }
    const struct fake_script *script = fake_script();
    bytes = bytes ? bytes : script->process_bytes;
    for (uint32_t i = 0; i < script->process_count; i++) {
        const struct fake_process *process = &script->processes[i];
        struct nv_process_protected entry = {.pid = process->pid,
                                             .memory = process->bytes,
                                             .gpu_instance = process->gi,
                                             .compute_instance = process->ci};
        if (process->gpu == device->gpu && process->list == list) {
            if (found < room && out) {
                memcpy((char *)out + (size_t)found * bytes, &entry, bytes);
            }
            found++;
        }
    }
    *count = found;
    return fake_end(found > room ? NV_INSUFFICIENT_SIZE : NV_SUCCESS);
}

#define LIST(name, list, bytes)                                               \
    API(name, nv_device device, uint32_t *count, void *out)                   \
    {                                                                         \
        return give_processes(device, __func__, (list), (bytes), count, out); \
    }

LIST(nvmlDeviceGetComputeRunningProcesses, 0, 16)
LIST(nvmlDeviceGetGraphicsRunningProcesses, 1, 16)
LIST(nvmlDeviceGetMPSComputeRunningProcesses, 2, 16)
#ifndef FAKE_OLD
LIST(nvmlDeviceGetComputeRunningProcesses_v2, 0, 24)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, 1, 24)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, 2, 24)
LIST(nvmlDeviceGetComputeRunningProcesses_v3, 0, 0)
LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, 1, 0)
LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, 2, 0)

API(nvmlDeviceGetConfComputeMemSizeInfo, nv_device device, void *out)
{
    (void)out;
    BEGIN(device);
    return fake_end(NV_NOT_SUPPORTED);
}
#endif

/* Where entries have 32 bytes, this one is missing: that is how they are told. */
#if !defined(FAKE_OLD) && !defined(FAKE_535)
API(nvmlDeviceGetRunningProcessDetailList, nv_device device, void *out)
{
    (void)out;
    BEGIN(device);
    return fake_end(NV_NOT_SUPPORTED);
}
#endif

API(nvmlDeviceGetProcessUtilization, nv_device device, struct nv_process_utilization *out,
    uint32_t *count, uint64_t after_us)
{
    uint32_t found = 0, room = *count;
    BEGIN(device);
    const struct fake_script *script = fake_script();
    for (uint32_t i = 0; i < script->process_count && !gpu->mig_mode; i++) {
        const struct fake_process *process = &script->processes[i];
        if (process->gpu == device->gpu && process->sm >= 0 && process->timestamp_us > after_us) {
            if (out && found < room) {
                out[found] = (struct nv_process_utilization){.pid = process->pid,
                                                             .timestamp_us = process->timestamp_us,
                                                             .sm = (uint32_t)process->sm,
                                                             .memory = (uint32_t)process->memory,
                                                             .encoder = (uint32_t)process->encoder,
                                                             .decoder = (uint32_t)process->decoder};
            }
            found++;
        }
    }
    *count = found;
    return fake_end(gpu->mig_mode  ? NV_NOT_SUPPORTED
                    : found == 0   ? NV_NOT_FOUND
                    : found > room ? NV_INSUFFICIENT_SIZE
                                   : NV_SUCCESS);
}

/* ---- events ---------------------------------------------------------------------------------- */

struct nv_event_set_opaque {
    uint32_t registered;
};

static struct nv_event_set_opaque the_set;

GIVES(nvmlDeviceGetSupportedEventTypes, uint64_t, true, 0xffff)

API(nvmlEventSetCreate, nv_event_set *out)
{
    *out = &the_set;
    return NV_SUCCESS;
}

API(nvmlEventSetFree, nv_event_set set)
{
    (void)set;
    return NV_SUCCESS;
}

API(nvmlDeviceRegisterEvents, nv_device device, uint64_t types, nv_event_set set)
{
    (void)types;
    (void)set;
    BEGIN(device);
    return fake_end(NV_SUCCESS);
}

API(nvmlEventSetWait_v2, nv_event_set set, struct nv_event *out, uint32_t timeout_ms)
{
    struct fake_event event;
    (void)set;
    int code = fake_begin(NULL, true, __func__);
    if (code != NV_SUCCESS) {
        return code;
    }
    (void)fake_end(code);
    if (!fake_next_event(timeout_ms, &event)) {
        return NV_TIMEOUT;
    }
    *out = (struct nv_event){.device = fake_handle(event.gpu),
                             .type = event.type,
                             .data = event.data,
                             .gpu_instance = event.gi,
                             .compute_instance = event.ci};
    return NV_SUCCESS;
}
