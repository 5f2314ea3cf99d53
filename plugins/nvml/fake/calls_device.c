/* SPDX-License-Identifier: MIT */
/* The fake library: who the GPUs are, their load, memory and errors. */
#include <stdio.h>
#include <string.h>

#include "plugins/nvml/fake/api.h"

#define MIB INT64_C(1048576)

const char *nvmlErrorString(int code);

const char *nvmlErrorString(int code)
{
    switch (code) {
    case NV_SUCCESS: return "Success";
    case NV_NOT_SUPPORTED: return "Not Supported";
    case NV_NO_PERMISSION: return "Insufficient Permissions";
    case NV_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NV_GPU_IS_LOST: return "GPU is lost";
    case NV_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

static int give_text(char *out, uint32_t size, const char *text)
{
    int length = snprintf(out, size, "%s", text);
    return fake_end(length < 0 || (uint32_t)length >= size ? NV_INSUFFICIENT_SIZE : NV_SUCCESS);
}

API(nvmlSystemGetDriverVersion, char *out, uint32_t size)
{
    int code = fake_begin(NULL, true, __func__);
    return code ? code : give_text(out, size, fake_script()->driver);
}

API(nvmlSystemGetNVMLVersion, char *out, uint32_t size)
{
    int code = fake_begin(NULL, true, __func__);
    return code ? code : give_text(out, size, "13.590.48.01");
}

API(nvmlSystemGetCudaDriverVersion, int32_t *out)
{
    *out = 13010;
    return NV_SUCCESS;
}

API(nvmlDeviceGetCount_v2, uint32_t *out)
{
    int code = fake_begin(NULL, true, __func__);
    if (code == NV_SUCCESS) {
        *out = fake_script()->gpu_count;
        return fake_end(code);
    }
    return code;
}

API(nvmlDeviceGetHandleByIndex_v2, uint32_t index, nv_device *out)
{
    if (index >= FAKE_GPUS) {
        return NV_INVALID_ARGUMENT;
    }
    int code = fake_begin(fake_handle(index), true, __func__);
    if (code != NV_SUCCESS) {
        return code;
    }
    if (index >= fake_script()->gpu_count) {
        return fake_end(NV_INVALID_ARGUMENT);
    }
    *out = fake_handle(index);
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetUUID, nv_device device, char *out, uint32_t size)
{
    char text[64];
    BEGIN(device);
    const struct fake_mig *mig = fake_mig(device);
    if (mig) {
        (void)snprintf(text, sizeof text, "MIG-00000000-0000-0000-0000-%012x", mig->uuid);
    } else {
        (void)snprintf(text, sizeof text, "GPU-00000000-0000-0000-0000-%012x", (unsigned)gpu->uuid);
    }
    return give_text(out, size, text);
}

API(nvmlDeviceGetName, nv_device device, char *out, uint32_t size)
{
    char text[96];
    BEGIN(device);
    (void)snprintf(text, sizeof text, "%s", gpu->profile->name);
    const struct fake_mig *mig = fake_mig(device);
    if (mig) {
        (void)snprintf(text, sizeof text, "%s MIG %ug.%dgb", gpu->profile->name, mig->slices,
                       (int)(mig->memory_mib / 1024));
    }
    return give_text(out, size, text);
}

API(nvmlDeviceGetSerial, nv_device device, char *out, uint32_t size)
{
    BEGIN(device);
    return gpu->profile->ecc ? give_text(out, size, "1650123456789") : fake_end(NV_NOT_SUPPORTED);
}

API(nvmlDeviceGetVbiosVersion, nv_device device, char *out, uint32_t size)
{
    BEGIN(device);
    return give_text(out, size, "96.00.89.00.01");
}

API(nvmlDeviceGetPciInfo_v3, nv_device device, struct nv_pci_info *out)
{
    BEGIN(device);
    memset(out, 0, sizeof *out);
    out->bus = 0x10 + device->gpu;
    (void)snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
    return fake_end(NV_SUCCESS);
}

GIVES(nvmlDeviceGetArchitecture, uint32_t, true, gpu->profile->architecture)
GIVES(nvmlDeviceGetPersistenceMode, uint32_t, true, 1)
GIVES(nvmlDeviceGetComputeMode, uint32_t, true, 0)
GIVES(nvmlDeviceGetPerformanceState, uint32_t, true, gpu->pstate)

/* Two numbers that the card has or has not. */
#define PAIR(name, has, value, other)                               \
    API(name, nv_device device, uint32_t *out, uint32_t *out_other) \
    {                                                               \
        BEGIN(device);                                              \
        *out = (uint32_t)(value);                                   \
        *out_other = (other);                                       \
        return fake_end((has) ? NV_SUCCESS : NV_NOT_SUPPORTED);     \
    }

PAIR(nvmlDeviceGetEccMode, gpu->profile->ecc, 1, 1)
PAIR(nvmlDeviceGetMigMode, gpu->profile->mig, gpu->mig_mode, 0)
PAIR(nvmlDeviceGetEncoderUtilization, !gpu->mig_mode, gpu->encoder, 167000)
PAIR(nvmlDeviceGetDecoderUtilization, !gpu->mig_mode, gpu->decoder, 167000)
#ifndef FAKE_OLD
PAIR(nvmlDeviceGetJpgUtilization, !gpu->mig_mode, gpu->jpeg, 167000)
PAIR(nvmlDeviceGetOfaUtilization, !gpu->mig_mode, gpu->ofa, 167000)
GIVES(nvmlDeviceGetNumaNodeId, uint32_t, gpu->profile->unified, 0)

API(nvmlDeviceGetAddressingMode, nv_device device, struct nv_addressing *out)
{
    BEGIN(device);
    if (out->version != NV_VERSION(struct nv_addressing, 1)) {
        return fake_end(NV_ARGUMENT_VERSION_MISMATCH);
    }
    out->mode = gpu->profile->unified ? NV_ADDRESSING_ATS : 1;
    return fake_end(NV_SUCCESS);
}

/* Refuses a bare 2 as version, as the real one does. */
API(nvmlDeviceGetMemoryInfo_v2, nv_device device, struct nv_memory_v2 *out)
{
    BEGIN(device);
    if (out->version != 0x02000028) {
        return fake_end(NV_ARGUMENT_VERSION_MISMATCH);
    }
    if (gpu->profile->unified) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    out->total = (uint64_t)(gpu->total_mib * MIB);
    out->reserved = (uint64_t)(gpu->reserved_mib * MIB);
    out->used = (uint64_t)(gpu->used_mib * MIB);
    const struct fake_mig *mig = fake_mig(device);
    if (mig) {
        out->total = (uint64_t)(mig->memory_mib * MIB);
        out->reserved = 0;
        out->used = (uint64_t)(mig->used_mib * MIB);
    }
    out->free = out->total - out->reserved - out->used;
    return fake_end(NV_SUCCESS);
}
#endif

API(nvmlDeviceGetUtilizationRates, nv_device device, struct nv_utilization *out)
{
    BEGIN(device);
    if (gpu->mig_mode) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    *out = (struct nv_utilization){.gpu = (uint32_t)gpu->util, .memory = (uint32_t)gpu->mem_util};
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetMemoryInfo, nv_device device, struct nv_memory *out)
{
    BEGIN(device);
    if (gpu->profile->unified) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    out->total = (uint64_t)(gpu->total_mib * MIB);
    out->used = (uint64_t)((gpu->used_mib + gpu->reserved_mib) * MIB);
    out->free = out->total - out->used;
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetBAR1MemoryInfo, nv_device device, struct nv_bar1 *out)
{
    BEGIN(device);
    *out = (struct nv_bar1){.total = 256u << 20, .used = 4u << 20, .free = 252u << 20};
    return fake_end(gpu->profile->unified ? NV_NOT_SUPPORTED : NV_SUCCESS);
}

API(nvmlDeviceGetTotalEccErrors, nv_device device, uint32_t type, uint32_t counter, uint64_t *out)
{
    BEGIN(device);
    if (!gpu->profile->ecc) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    *out = (uint64_t)(type == NV_ECC_CORRECTED ? gpu->ecc_corrected : gpu->ecc_uncorrected);
    *out += counter == NV_ECC_AGGREGATE ? 100 : 0;
    return fake_end(NV_SUCCESS);
}

#ifndef FAKE_OLD
API(nvmlDeviceGetRemappedRows, nv_device device, uint32_t *corrected, uint32_t *uncorrected,
    uint32_t *pending, uint32_t *failure)
{
    BEGIN(device);
    *corrected = (uint32_t)gpu->remapped;
    *uncorrected = 0;
    *pending = gpu->remap_pending != 0;
    *failure = 0;
    return fake_end(gpu->profile->architecture < 7 || gpu->mig_mode ? NV_NOT_SUPPORTED
                                                                    : NV_SUCCESS);
}
#endif
