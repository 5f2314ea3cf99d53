/* SPDX-License-Identifier: MIT */
/* Finds the MIG devices of a GPU anew in each tick and puts down their memory and activity; see
 * mig.h. */
#include "plugins/nvml/mig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/read_memory.h"

int mig_init(struct device *device)
{
    device->migs = calloc(1, sizeof *device->migs);
    return device->migs ? TACHO_OK : TACHO_RETRY;
}

void mig_fini(struct device *device)
{
    for (uint32_t i = 0; device->migs && i < device->migs->count; i++) {
        gpm_fini(&device->migs->items[i].gpm, device->lib);
    }
    free(device->migs);
    device->migs = NULL;
}

/* ---- who is there ---------------------------------------------------------------------------- */

/* The part of the name after "MIG ", or what its slices come to. */
static void read_profile(const struct device *device, struct mig *mig)
{
    char name[96] = "";
    struct nv_attributes attributes = {.gpu_slices = 0};
    (void)NVML_CALL(device->lib, name, mig->handle, name, (uint32_t)sizeof name);
    const char *at = strstr(name, "MIG ");
    if (at) {
        (void)snprintf(mig->profile, sizeof mig->profile, "%.40s", at + 4);
    } else if (NVML_CALL(device->lib, attributes, mig->handle, &attributes) == NV_SUCCESS) {
        (void)snprintf(mig->profile, sizeof mig->profile, "%" PRIu32 "g.%" PRIu64 "gb",
                       attributes.gpu_slices, (attributes.memory_mib + 512) / 1024);
    }
}

static struct mig *find(struct mig_list *list, const char *uuid)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].uuid, uuid) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* Takes in the device at an index; a code other than NOT_FOUND, which only means a gap. */
static int look_at(struct device *device, uint32_t index)
{
    struct mig_list *list = device->migs;
    struct mig found = {.index = index, .gi = NV_NO_INSTANCE, .ci = NV_NO_INSTANCE};
    int code = NVML_CALL(device->lib, mig_by_index, device->identity.handle, index, &found.handle);
    if (code == NV_SUCCESS && found.handle) {
        code = device->lib->uuid(found.handle, found.uuid, sizeof found.uuid);
    }
    if (code != NV_SUCCESS || !found.handle) {
        return code == NV_NOT_FOUND ? NV_SUCCESS : code;
    }
    struct mig *mig = find(list, found.uuid);
    if (!mig && list->count == MIG_LIMIT) {
        return NV_INSUFFICIENT_SIZE;
    }
    if (!mig) {
        (void)NVML_CALL(device->lib, gpu_instance, found.handle, &found.gi);
        (void)NVML_CALL(device->lib, compute_instance, found.handle, &found.ci);
        read_profile(device, &found);
        mig = &list->items[list->count++];
        *mig = found;
    }
    mig->handle = found.handle;
    mig->index = index;
    mig->seen = true;
    return NV_SUCCESS;
}

static void forget_unseen(struct device *device)
{
    struct mig_list *list = device->migs;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].seen) {
            list->items[kept++] = list->items[i];
        } else {
            gpm_fini(&list->items[i].gpm, device->lib);
        }
    }
    list->count = kept;
}

static void look(struct device *device)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < device->migs->count; i++) {
        device->migs->items[i].seen = false;
    }
    int code = device->mig ? NVML_CALL(device->lib, mig_count, device->identity.handle, &count)
                           : NV_SUCCESS;
    for (uint32_t i = 0; i < count && device->code == NV_SUCCESS; i++) {
        device_answer(device, look_at(device, i));
    }
    device_answer(device, code);
    forget_unseen(device);
}

/* ---- what they tell -------------------------------------------------------------------------- */

/* Memory and counters belong to the GPU instance: they are put down with its first compute instance
 * and not again, lest they be added up. */
static bool is_first_of_instance(const struct mig_list *list, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++) {
        if (list->items[i].gi == list->items[at].gi) {
            return false;
        }
    }
    return true;
}

static void put_memory(struct device *device, struct reading *reading, const struct mig *mig)
{
    static const int32_t metrics[] = {M_MEMORY_TOTAL, M_MEMORY_USED, M_MEMORY_FREE,
                                      M_MEMORY_RESERVED};
    struct nv_memory_v2 memory;
    bool reserved;
    int code = memory_ask(device->lib, mig->handle, &memory, &reserved);
    const uint64_t values[] = {memory.total, memory.used, memory.free, memory.reserved};
    device_answer(device, code);
    for (size_t i = 0; i < TACHO_COUNT(metrics); i++) {
        bool told = metrics[i] != M_MEMORY_RESERVED || reserved;
        if (code == NV_SUCCESS && told) {
            reading_i64(reading, metrics[i], (int64_t)values[i]);
        } else {
            reading_absent(reading, metrics[i], nvml_code_reason(code ? code : NV_NOT_SUPPORTED));
        }
    }
}

static void label_number(struct reading *reading, const char *name, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%" PRIu32, number);
    reading_label(reading, name, text);
}

void read_migs(struct device *device, struct reading *reading)
{
    look(device);
    for (uint32_t i = 0; i < device->migs->count; i++) {
        struct mig *mig = &device->migs->items[i];
        mig->entity = reading_entity(reading, "mig", mig->uuid, 0);
        label_number(reading, "index", mig->index);
        reading_label(reading, "profile", mig->profile);
        label_number(reading, "gi", mig->gi);
        label_number(reading, "ci", mig->ci);
        if (is_first_of_instance(device->migs, i)) {
            put_memory(device, reading, mig);
            gpm_read(device, reading, &mig->gpm, mig->gi);
        }
    }
}
