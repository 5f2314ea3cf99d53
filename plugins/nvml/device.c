/* SPDX-License-Identifier: MIT */
/*
 * A GPU: getting hold of it, one tick of work, and what each answer of the driver means. What is
 * asked lies in read_*.c; when, in generation.c.
 */
#include "plugins/nvml/device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plugins/nvml/generation.h"
#include "plugins/nvml/gpm.h"
#include "plugins/nvml/mig.h"
#include "plugins/nvml/sysfs.h"

#define NS_PER_S INT64_C(1000000000)
#define FAILED_PAUSE_NS (5 * NS_PER_S) /* a failed GPU is tried again so often */
#define SUSPICIOUS_TICKS 3

typedef void reader(struct device *device, struct reading *reading);

/* In the order of the batch: values of the GPU itself, then what stands below it. */
static reader *const readers[] = {
    read_state,   read_load,     read_memory, read_power, read_bus,  read_fields,
    read_samples, read_activity, read_fans,   read_links, read_migs, read_peers,
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int device_init(struct device *device, struct generation *generation, uint32_t index,
                uint32_t count)
{
    device->generation = generation;
    device->lib = &generation->lib;
    device->index = index;
    device->slot.status = DEVICE_FAILED;
    pthread_cond_init(&device->wake, NULL);
    (void)snprintf(device->identity.known.index, sizeof device->identity.known.index, "%" PRIu32,
                   index);
    int result = fields_init(device);
    result = result == TACHO_OK ? samples_init(device) : result;
    result = result == TACHO_OK ? peers_init(device, count) : result;
    result = result == TACHO_OK ? mig_init(device) : result;
    return result == TACHO_OK ? gpm_init(device) : result;
}

void device_fini(struct device *device)
{
    if (device->gpm) {
        gpm_fini(device->gpm, device->lib);
    }
    free(device->gpm);
    free(device->gpm_request);
    mig_fini(device);
    free(device->peers);
    samples_fini(device);
    fields_fini(device);
    reading_fini(&device->facts);
    reading_fini(&device->work);
    reading_fini(&device->slot.reading);
    pthread_cond_destroy(&device->wake);
}

/* ---- answers --------------------------------------------------------------------------------- */

bool device_wants(struct device *device, struct reading *reading, int32_t metric)
{
    const struct capability *capability = &device->capabilities[metric];
    if (device->code != NV_SUCCESS) {
        reading_absent(reading, metric, TACHO_ABSENT_LOST);
        return false;
    }
    if (capability_wanted(capability, device->begin_ns)) {
        return true;
    }
    reading_absent(reading, metric, nvml_code_reason(capability->code));
    return false;
}

void device_answer(struct device *device, int code)
{
    if (nvml_code_fails_device(code) || nvml_code_ends_generation(code)) {
        device->code = code;
    }
    device->good += code == NV_SUCCESS;
    device->bad += code != NV_SUCCESS && nvml_code_reason(code) == TACHO_ABSENT_ERROR;
}

bool device_note(struct device *device, struct reading *reading, int32_t metric, int code)
{
    capability_note(&device->capabilities[metric], code, device->begin_ns, device->begin_wall_ns);
    device_answer(device, code);
    if (code != NV_SUCCESS) {
        reading_absent(reading, metric, nvml_code_reason(code));
    }
    return code == NV_SUCCESS;
}

void device_put_i64(struct device *device, struct reading *reading, int32_t metric, int code,
                    int64_t value)
{
    if (device_note(device, reading, metric, code)) {
        reading_i64(reading, metric, value);
    }
}

void device_put_f64(struct device *device, struct reading *reading, int32_t metric, int code,
                    double value)
{
    if (device_note(device, reading, metric, code)) {
        reading_f64(reading, metric, value);
    }
}

void device_put_text(struct device *device, struct reading *reading, int32_t metric, int code,
                     const char *value)
{
    if (device_note(device, reading, metric, code)) {
        reading_text(reading, metric, value);
    }
}

void device_put_flags(struct device *device, struct reading *reading, int32_t metric, int code,
                      uint64_t bits)
{
    if (device_note(device, reading, metric, code)) {
        reading_flags(reading, metric, bits);
    }
}

void device_read_u32(struct device *device, struct reading *reading, int32_t metric, u32_call *call,
                     int64_t scale)
{
    uint32_t value = 0;
    if (device_wants(device, reading, metric)) {
        int code = call ? call(device->identity.handle, &value) : NV_FUNCTION_NOT_FOUND;
        device_put_i64(device, reading, metric, code, value * scale);
    }
}

/* ---- getting hold ---------------------------------------------------------------------------- */

/* Only handles that the library gave are ever passed to it: one that was never set would crash it.
 */
static int find_handle(struct device *device, nv_device *out)
{
    *out = NULL;
    int code = device->lib->device_by_index(device->index, out);
    return code == NV_SUCCESS && !*out ? NV_UNKNOWN : code;
}

void device_format_pci(const struct nv_pci_info *pci, char *out, size_t size)
{
    (void)snprintf(out, size, "%04" PRIx32 ":%02" PRIx32 ":%02" PRIx32 ".0", pci->domain,
                   pci->bus & 0xff, pci->device & 0xff);
}

/* What was learned and counted belongs to the GPU as it was. */
static void begin_anew(struct device *device)
{
    memset(device->capabilities, 0, sizeof device->capabilities);
    fields_restart(device);
    samples_restart(device);
    peers_forget(device);
    gpm_fini(device->gpm, device->lib);
    links_find(device);
    reading_reset(&device->facts);
    read_facts(device, &device->facts);
}

static int attach(struct device *device)
{
    struct identity found = {.known = {.index = ""}};
    struct nv_pci_info pci = {.domain = 0};
    int code = find_handle(device, &found.handle);
    if (code == NV_SUCCESS) {
        code = device->lib->uuid(found.handle, found.known.uuid, sizeof found.known.uuid);
    }
    if (code != NV_SUCCESS) {
        return code;
    }
    if (NVML_CALL(device->lib, name, found.handle, found.known.name,
                  (uint32_t)sizeof found.known.name) != NV_SUCCESS) {
        found.known.name[0] = '\0';
    }
    if (NVML_CALL(device->lib, pci_info, found.handle, &pci) == NV_SUCCESS) {
        device_format_pci(&pci, found.known.pci, sizeof found.known.pci);
    }
    memcpy(found.known.index, device->identity.known.index, sizeof found.known.index);
    found.attached = true;
    device->identity = found;
    begin_anew(device);
    return device->code;
}

/* A GPU that was never attached is found by its place among all. */
static bool is_suspended(struct device *device)
{
    const struct generation *generation = device->generation;
    struct known_gpu *known = &device->identity.known;
    if (!known->pci[0] && !sysfs_find_gpu(generation->root, device->index, generation->device_count,
                                          known->pci, (uint32_t)sizeof known->pci)) {
        known->pci[0] = '\0';
        return false;
    }
    return sysfs_suspended(generation->root, known->pci);
}

/* ---- a tick ---------------------------------------------------------------------------------- */

static void read_all(struct device *device)
{
    struct reading *work = &device->work;
    const struct known_gpu *known = &device->identity.known;
    reading_reset(work);
    (void)reading_entity(work, "gpu", known->uuid, -1);
    reading_label(work, "index", known->index);
    reading_label(work, "name", known->name);
    reading_label(work, "pci_bus_id", known->pci);
    reading_facts(work, true);
    reading_append(work, &device->facts);
    reading_facts(work, false);
    for (size_t i = 0; i < TACHO_COUNT(readers) && device->code == NV_SUCCESS; i++) {
        readers[i](device, work);
    }
}

/* Errors that say nothing, more of them than values, tick after tick: something is wrong with the
 * whole GPU. */
static void judge(struct device *device)
{
    device->suspicious = device->bad > device->good ? device->suspicious + 1 : 0;
    if (device->suspicious >= SUSPICIOUS_TICKS && device->code == NV_SUCCESS) {
        device->code = NV_UNKNOWN;
    }
}

static int fail(struct device *device)
{
    device->identity.attached = false;
    device->identity.handle = NULL;
    device->suspicious = 0;
    device->retry_ns = device->begin_ns + FAILED_PAUSE_NS;
    return DEVICE_FAILED;
}

int device_work(struct device *device)
{
    device->begin_ns = clock_ns(CLOCK_MONOTONIC);
    device->begin_wall_ns = clock_ns(CLOCK_REALTIME);
    if (is_suspended(device)) {
        return DEVICE_SUSPENDED;
    }
    if (!device->identity.attached && device->begin_ns < device->retry_ns) {
        return DEVICE_FAILED;
    }
    device->code = NV_SUCCESS;
    device->good = 0;
    device->bad = 0;
    if (!device->identity.attached) {
        device->code = attach(device);
    }
    if (device->code == NV_SUCCESS) {
        read_all(device);
        judge(device);
    }
    return device->code == NV_SUCCESS ? DEVICE_OK : fail(device);
}
