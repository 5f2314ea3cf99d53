/* SPDX-License-Identifier: MIT */
/*
 * From readings to the batch, on the collecting thread. A GPU that cannot be read stays where it
 * was, under its UUID, with the same metrics, absent for a reason; so the schema stays the same
 * too.
 */
#include "plugins/nvml/fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_NS (INT64_C(10) * 1000000000) /* a GPU without a name is not shown before */

const char *status_name(int status)
{
    static const char *const names[] = {"ok", "failed", "stuck", "suspended"};
    return names[status];
}

static int absence(int status)
{
    static const int reasons[] = {0, TACHO_ABSENT_LOST, TACHO_ABSENT_STALE, TACHO_ABSENT_NOT_YET};
    return reasons[status];
}

/* The entry of a GPU, made if it is new; NULL without memory. */
static struct known_gpu *remember(struct nvml *nvml, const struct known_gpu *gpu)
{
    for (uint32_t i = 0; i < nvml->known_count; i++) {
        if (strcmp(nvml->known[i].uuid, gpu->uuid) == 0) {
            return &nvml->known[i];
        }
    }
    struct known_gpu *known = realloc(nvml->known, (nvml->known_count + 1) * sizeof *known);
    if (!known) {
        return NULL;
    }
    nvml->known = known;
    known[nvml->known_count] = *gpu;
    known[nvml->known_count].status = -1;
    return &known[nvml->known_count++];
}

static void open_gpu(const struct nvml *nvml, struct tacho_batch *batch,
                     const struct known_gpu *gpu, const char *key)
{
    const struct tacho_host *host = nvml->host;
    host->entity(batch, "gpu", key, -1, 0);
    host->label(batch, "index", gpu->index);
    if (gpu->name[0]) {
        host->label(batch, "name", gpu->name);
    }
    if (gpu->pci[0]) {
        host->label(batch, "pci_bus_id", gpu->pci);
    }
}

/* A GPU that never told who it is goes by its place, and says that this is weak. */
static void fill_unknown(const struct nvml *nvml, struct tacho_batch *batch,
                         const struct known_gpu *gpu, int status)
{
    char key[64];
    (void)snprintf(key, sizeof key, "nvml-%s", gpu->pci[0] ? gpu->pci : gpu->index);
    open_gpu(nvml, batch, gpu, key);
    nvml->host->label(batch, "identity", "weak");
    nvml->host->text(batch, M_STATUS, status_name(status));
}

static void fill_known(struct nvml *nvml, struct tacho_batch *batch, const struct device *device,
                       int status)
{
    const struct tacho_host *host = nvml->host;
    const struct slot *slot = &device->slot;
    const struct reading *reading = &slot->reading;
    int32_t first = -1;
    uint32_t at = 0;
    if (reading->count == 0) {
        open_gpu(nvml, batch, &slot->identity.known, slot->identity.known.uuid);
    } else {
        at = reading_write(reading, 0, absence(status), host, batch, &first);
    }
    host->text(batch, M_STATUS, status_name(status));
    if (status == DEVICE_OK) {
        host->f64(batch, M_CALL_TIME, (double)slot->took_ns / 1e9);
    } else {
        host->absent(batch, M_CALL_TIME, absence(status));
    }
    while (at < reading->count) {
        at = reading_write(reading, at, absence(status), host, batch, &first);
    }
}

static void count_status(struct tally *tally, int status)
{
    tally->total++;
    tally->failed += status == DEVICE_FAILED;
    tally->stuck += status == DEVICE_STUCK;
    tally->suspended += status == DEVICE_SUSPENDED;
}

/* True when the GPU told who it is, now or before. */
static bool fill_device(struct nvml *nvml, struct tacho_batch *batch, struct device *device,
                        struct tally *tally)
{
    const struct slot *slot = &device->slot;
    int status = slot->asked ? DEVICE_STUCK : slot->status;
    if (!slot->asked && nvml_code_ends_generation(slot->code)) {
        tally->ending = slot->code;
    }
    if (slot->identity.known.uuid[0]) {
        struct known_gpu *known = remember(nvml, &slot->identity.known);
        if (known) {
            known->status = status;
            known->present = true;
        }
        fill_known(nvml, batch, device, status);
        count_status(tally, status);
        return true;
    }
    if (!slot->asked && slot->code == NV_NO_PERMISSION) {
        tally->denied++;
        return true;
    }
    count_status(tally, status);
    if (status != DEVICE_STUCK || nvml->host->mono_ns() - slot->asked_ns > UNKNOWN_NS) {
        struct known_gpu gpu = slot->identity.known;
        (void)snprintf(gpu.index, sizeof gpu.index, "%u", device->index);
        fill_unknown(nvml, batch, &gpu, status);
    }
    return false;
}

/* GPUs of earlier generations that this one does not have. While one of its own is still unnamed,
 * that may be the one. */
static void fill_missing(struct nvml *nvml, struct tacho_batch *batch, bool unnamed,
                         struct tally *tally)
{
    for (uint32_t i = 0; i < nvml->known_count; i++) {
        struct known_gpu *gpu = &nvml->known[i];
        if (!gpu->present) {
            gpu->status = unnamed ? DEVICE_STUCK : DEVICE_FAILED;
            open_gpu(nvml, batch, gpu, gpu->uuid);
            nvml->host->text(batch, M_STATUS, status_name(gpu->status));
            if (!unnamed) {
                count_status(tally, gpu->status);
            }
        }
    }
}

void fill_batch(struct nvml *nvml, struct tacho_batch *batch, struct tally *out)
{
    struct generation *generation = nvml->generation;
    bool unnamed = false;
    *out = (struct tally){.ending = NV_SUCCESS};
    for (uint32_t i = 0; i < nvml->known_count; i++) {
        nvml->known[i].present = false;
    }
    pthread_mutex_lock(&generation->lock);
    for (uint32_t i = 0; i < generation->device_count; i++) {
        unnamed |= !fill_device(nvml, batch, &generation->devices[i], out);
    }
    pthread_mutex_unlock(&generation->lock);
    fill_missing(nvml, batch, unnamed, out);
}
