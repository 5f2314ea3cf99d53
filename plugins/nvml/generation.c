/* SPDX-License-Identifier: MIT */
/*
 * Loads the library, finds its GPUs, keeps a worker thread for each and hands them their ticks.
 * What a worker does is device.c's; what becomes of it, nvml.c's.
 */
#include "plugins/nvml/generation.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)
#define LEAVE_NS (INT64_C(500) * 1000000) /* how long workers get to go home */
#define WORKER_STACK (1u << 20)

static int64_t mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- workers --------------------------------------------------------------------------------- */

/* Hands over what the work came to, unless nobody waits for it any more. Lock held. */
static void publish(struct device *device, int status)
{
    struct generation *generation = device->generation;
    struct slot *slot = &device->slot;
    slot->asked = false;
    slot->status = status;
    slot->code = device->code;
    slot->took_ns = mono_ns() - device->begin_ns;
    slot->first_wall_ns = slot->first_wall_ns ? slot->first_wall_ns : device->begin_wall_ns;
    slot->identity = device->identity;
    memcpy(slot->capabilities, device->capabilities, sizeof slot->capabilities);
    if (slot->late) {
        slot->late = false;
        return;
    }
    if (status == DEVICE_OK) {
        reading_swap(&slot->reading, &device->work);
    }
    if (--generation->pending == 0) {
        pthread_cond_signal(&generation->done);
    }
}

static void *run_worker(void *argument)
{
    struct device *device = argument;
    struct generation *generation = device->generation;
    pthread_mutex_lock(&generation->lock);
    while (!generation->stop) {
        if (!device->slot.asked) {
            pthread_cond_wait(&device->wake, &generation->lock);
            continue;
        }
        pthread_mutex_unlock(&generation->lock);
        int status = device_work(device);
        pthread_mutex_lock(&generation->lock);
        publish(device, status);
    }
    device->slot.exited = true;
    generation->running--;
    pthread_cond_signal(&generation->done);
    pthread_mutex_unlock(&generation->lock);
    generation_unref(generation);
    return NULL;
}

/* With all signals blocked: they are the host's business. */
static int start_worker(struct device *device)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    (void)sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&device->thread, &attributes, run_worker, device);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

static int start_devices(struct generation *generation, uint32_t count, struct tacho_err *err)
{
    generation->devices = calloc(count, sizeof *generation->devices);
    if (!generation->devices) {
        return tacho_fail(err, TACHO_RETRY, "no memory for %" PRIu32 " GPUs", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct device *device = &generation->devices[i];
        if (device_init(device, generation, i, count) != TACHO_OK) {
            device_fini(device);
            return tacho_fail(err, TACHO_RETRY, "no memory for GPU %" PRIu32, i);
        }
        atomic_fetch_add(&generation->refs, 1);
        pthread_mutex_lock(&generation->lock);
        generation->running++;
        generation->device_count++;
        pthread_mutex_unlock(&generation->lock);
        int failed = start_worker(device);
        if (failed) {
            pthread_mutex_lock(&generation->lock);
            generation->running--;
            device->slot.exited = true;
            device->thread = pthread_self(); /* nobody to join */
            pthread_mutex_unlock(&generation->lock);
            generation_unref(generation);
            return tacho_fail(err, TACHO_RETRY, "cannot start a thread for GPU %" PRIu32 ": %s", i,
                              strerror(failed));
        }
    }
    return TACHO_OK;
}

/* ---- life ------------------------------------------------------------------------------------ */

void generation_unref(struct generation *generation)
{
    if (atomic_fetch_sub(&generation->refs, 1) != 1) {
        return;
    }
    for (uint32_t i = 0; i < generation->device_count; i++) {
        device_fini(&generation->devices[i]);
    }
    free(generation->devices);
    if (generation->initialised) {
        (void)NVML_CALL(&generation->lib, shutdown);
    }
    nvml_lib_close(&generation->lib);
    pthread_cond_destroy(&generation->done);
    pthread_mutex_destroy(&generation->lock);
    free(generation);
}

static void read_versions(struct generation *generation)
{
    const struct nvml_lib *lib = &generation->lib;
    int32_t cuda = 0;
    if (NVML_CALL(lib, system_driver_version, generation->driver_version,
                  (uint32_t)sizeof generation->driver_version) != NV_SUCCESS) {
        generation->driver_version[0] = '\0';
    }
    if (NVML_CALL(lib, system_nvml_version, generation->nvml_version,
                  (uint32_t)sizeof generation->nvml_version) != NV_SUCCESS) {
        generation->nvml_version[0] = '\0';
    }
    if (NVML_CALL(lib, system_cuda_version, &cuda) == NV_SUCCESS && cuda > 0) {
        (void)snprintf(generation->cuda_version, sizeof generation->cuda_version,
                       "%" PRId32 ".%" PRId32, cuda / 1000, cuda % 1000 / 10);
    }
}

static int count_devices(const struct generation *generation, uint32_t *out, struct tacho_err *err)
{
    int code = generation->lib.device_count(out);
    if (code != NV_SUCCESS) {
        return tacho_fail(err, TACHO_RETRY, "NVML cannot count the GPUs: %s (code %d)",
                          nvml_lib_error(&generation->lib, code), code);
    }
    if (*out == 0) {
        return tacho_fail(err, TACHO_UNSUPPORTED,
                          "NVML of driver %s knows no GPU; check with lspci, and in a container "
                          "that it was started with its GPUs",
                          generation->driver_version[0] ? generation->driver_version : "(unknown)");
    }
    *out = *out < GENERATION_GPU_LIMIT ? *out : GENERATION_GPU_LIMIT;
    return TACHO_OK;
}

static struct generation *make(const struct nvml *nvml)
{
    struct generation *generation = calloc(1, sizeof *generation);
    if (!generation) {
        return NULL;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&generation->done, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&generation->lock, NULL);
    atomic_init(&generation->refs, 1);
    generation->number = nvml->generations + 1;
    generation->pcie_throughput = nvml->options->pcie_throughput != 0;
    (void)snprintf(generation->root, sizeof generation->root, "%s", nvml->options->root);
    return generation;
}

int generation_open(struct nvml *nvml, struct generation **out, struct tacho_err *err)
{
    struct generation *generation = make(nvml);
    uint32_t count = 0;
    if (!generation) {
        return tacho_fail(err, TACHO_RETRY, "no memory for the NVML library");
    }
    int result = nvml_lib_open(&generation->lib, nvml->options->library, err);
    if (result == TACHO_OK) {
        result = nvml_lib_init(&generation->lib, err);
        generation->initialised = result == TACHO_OK;
    }
    if (result == TACHO_OK) {
        read_versions(generation);
        result = count_devices(generation, &count, err);
    }
    if (result == TACHO_OK) {
        result = start_devices(generation, count, err);
    }
    if (result != TACHO_OK) {
        (void)generation_end(generation);
        return result;
    }
    *out = generation;
    return TACHO_OK;
}

/* Waits for workers to leave; lock held. */
static void wait_for_workers(struct generation *generation)
{
    int64_t until_ns = mono_ns() + LEAVE_NS;
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    int waited = 0;
    while (generation->running > 0 && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&generation->done, &generation->lock, &until);
    }
}

bool generation_end(struct generation *generation)
{
    pthread_mutex_lock(&generation->lock);
    generation->stop = true;
    for (uint32_t i = 0; i < generation->device_count; i++) {
        pthread_cond_signal(&generation->devices[i].wake);
    }
    wait_for_workers(generation);
    bool all = generation->running == 0;
    for (uint32_t i = 0; i < generation->device_count; i++) {
        struct device *device = &generation->devices[i];
        bool exited = device->slot.exited;
        pthread_t thread = device->thread;
        pthread_mutex_unlock(&generation->lock);
        if (!exited) {
            (void)pthread_detach(thread);
        } else if (!pthread_equal(thread, pthread_self())) {
            (void)pthread_join(thread, NULL);
        }
        pthread_mutex_lock(&generation->lock);
    }
    pthread_mutex_unlock(&generation->lock);
    generation_unref(generation);
    return all;
}

/* ---- ticks ----------------------------------------------------------------------------------- */

void generation_tick(struct generation *generation, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    int64_t now_ns = mono_ns();
    int waited = 0;
    pthread_mutex_lock(&generation->lock);
    generation->pending = 0;
    for (uint32_t i = 0; i < generation->device_count; i++) {
        struct slot *slot = &generation->devices[i].slot;
        if (!slot->asked) {
            slot->asked = true;
            slot->asked_ns = now_ns;
            generation->pending++;
            pthread_cond_signal(&generation->devices[i].wake);
        }
    }
    while (generation->pending > 0 && waited != ETIMEDOUT) {
        waited = pthread_cond_timedwait(&generation->done, &generation->lock, &until);
    }
    generation->pending = 0;
    for (uint32_t i = 0; i < generation->device_count; i++) {
        struct slot *slot = &generation->devices[i].slot;
        slot->late = slot->asked;
    }
    pthread_mutex_unlock(&generation->lock);
}
