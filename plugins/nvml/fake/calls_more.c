/* SPDX-License-Identifier: MIT */
/* The fake library: buffered samples, links and peers, MIG, GPM. */
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/fake/api.h"

/* With NULL for the samples it tells how many there may be. */
API(nvmlDeviceGetSamples, nv_device device, uint32_t type, uint64_t after_us, int32_t *value_type,
    uint32_t *count, struct nv_sample *samples)
{
    uint32_t found = 0;
    BEGIN(device);
    const struct fake_script *script = fake_script();
    *value_type = NV_VALUE_UINT;
    if (gpu->mig_mode) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    if (!samples) {
        *count = 120;
        return fake_end(NV_SUCCESS);
    }
    for (uint32_t i = 0; i < script->sample_count && found < *count; i++) {
        const struct fake_sample *sample = &script->samples[i];
        if (sample->gpu == device->gpu && sample->type == type && sample->timestamp_us > after_us) {
            samples[found].timestamp_us = sample->timestamp_us;
            samples[found++].value.u32 = sample->value;
        }
    }
    *count = found;
    return fake_end(found ? NV_SUCCESS : NV_NOT_FOUND);
}

/* ---- links and peers ------------------------------------------------------------------------- */

/* All GPUs hang on one switch: link n of a GPU leads to GPU n modulo the others. */
API(nvmlDeviceGetNvLinkState, nv_device device, uint32_t link, uint32_t *out)
{
    BEGIN(device);
    *out = link < gpu->profile->nvlinks;
    return fake_end(gpu->profile->nvlinks == 0 || gpu->mig_mode ? NV_NOT_SUPPORTED
                    : link >= 18                                ? NV_INVALID_ARGUMENT
                                                                : NV_SUCCESS);
}

API(nvmlDeviceGetNvLinkRemotePciInfo_v2, nv_device device, uint32_t link, struct nv_pci_info *out)
{
    BEGIN(device);
    uint32_t others = fake_script()->gpu_count - 1;
    if (link >= gpu->profile->nvlinks || others == 0) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    memset(out, 0, sizeof *out);
    out->bus = 0x10 + (device->gpu + 1 + link % others) % (others + 1);
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetTopologyCommonAncestor, nv_device device, nv_device other, uint32_t *out)
{
    BEGIN(device);
    *out = device->gpu / 4 == other->gpu / 4 ? 20 : 50;
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetP2PStatus, nv_device device, nv_device other, uint32_t capability, uint32_t *out)
{
    BEGIN(device);
    bool linked = gpu->profile->nvlinks > 0 && fake_gpu(other)->profile->nvlinks > 0;
    *out = capability == 2 && !linked ? 5 : 0;
    return fake_end(NV_SUCCESS);
}

#ifndef FAKE_OLD

/* ---- MIG ------------------------------------------------------------------------------------- */

API(nvmlDeviceGetMaxMigDeviceCount, nv_device device, uint32_t *out)
{
    BEGIN(device);
    *out = gpu->profile->mig ? 7 : 0;
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetMigDeviceHandleByIndex, nv_device device, uint32_t index, nv_device *out)
{
    BEGIN(device);
    const struct fake_script *script = fake_script();
    for (uint32_t i = 0; i < script->mig_count; i++) {
        if (script->migs[i].gpu == device->gpu && script->migs[i].index == index &&
            index < FAKE_MIG_INDICES) {
            *out = fake_mig_handle(device->gpu, index);
            return fake_end(NV_SUCCESS);
        }
    }
    return fake_end(NV_NOT_FOUND);
}

API(nvmlDeviceGetGpuInstanceId, nv_device device, uint32_t *out)
{
    BEGIN(device);
    const struct fake_mig *mig = fake_mig(device);
    *out = mig ? mig->gi : 0;
    return fake_end(mig ? NV_SUCCESS : NV_NOT_SUPPORTED);
}

API(nvmlDeviceGetComputeInstanceId, nv_device device, uint32_t *out)
{
    BEGIN(device);
    const struct fake_mig *mig = fake_mig(device);
    *out = mig ? mig->ci : 0;
    return fake_end(mig ? NV_SUCCESS : NV_NOT_SUPPORTED);
}

/* ---- GPM ------------------------------------------------------------------------------------- */

struct nv_sample_opaque {
    int64_t at_us, activity;
};

API(nvmlGpmQueryDeviceSupport, nv_device device, struct nv_gpm_support *out)
{
    BEGIN(device);
    if (out->version != NV_GPM_VERSION) {
        return fake_end(NV_ARGUMENT_VERSION_MISMATCH);
    }
    out->supported = gpu->profile->gpm;
    return fake_end(NV_SUCCESS);
}

API(nvmlGpmSampleAlloc, nv_gpm_sample *out)
{
    *out = calloc(1, sizeof **out);
    return *out ? NV_SUCCESS : NV_MEMORY;
}

API(nvmlGpmSampleFree, nv_gpm_sample sample)
{
    free(sample);
    return NV_SUCCESS;
}

API(nvmlGpmSampleGet, nv_device device, nv_gpm_sample sample)
{
    BEGIN(device);
    sample->at_us = fake_elapsed_us();
    sample->activity = gpu->activity;
    return fake_end(gpu->profile->gpm ? NV_SUCCESS : NV_NOT_SUPPORTED);
}

API(nvmlGpmMigSampleGet, nv_device device, uint32_t instance, nv_gpm_sample sample)
{
    BEGIN(device);
    sample->at_us = fake_elapsed_us();
    sample->activity = gpu->activity + instance;
    return fake_end(gpu->profile->gpm && gpu->mig_mode ? NV_SUCCESS : NV_NOT_SUPPORTED);
}

/* Metric n of a GPU with activity a is a + n. */
API(nvmlGpmMetricsGet, struct nv_gpm_metrics *metrics)
{
    if (metrics->version != NV_GPM_VERSION) {
        return NV_ARGUMENT_VERSION_MISMATCH;
    }
    if (metrics->to->at_us - metrics->from->at_us < 100000) {
        return NV_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < metrics->count; i++) {
        metrics->metrics[i].code = NV_SUCCESS;
        metrics->metrics[i].value = (double)(metrics->to->activity + metrics->metrics[i].metric);
    }
    return NV_SUCCESS;
}
#endif
