/* SPDX-License-Identifier: MIT */
/* What every call of the fake library begins and ends with: the script, its rules, its faults. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugins/nvml/fake/fake.h"

#define MAGIC 0x6e766d6cu
#define CHECK_NS INT64_C(10000000) /* how often the file is looked at */

static struct fake_script script;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static _Atomic int64_t checked_ns;
static struct stat seen;
static int32_t started_generation;
static uint32_t started; /* how often, less how often stopped */
static uint32_t told_events;
static int64_t loaded_ns;
static struct nv_device_opaque handles[FAKE_GPUS], mig_handles[FAKE_GPUS][FAKE_MIG_INDICES];

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Once: handles are used again for whatever comes to their place, as the real ones are. */
static void make_handles(void)
{
    for (uint32_t i = 0; i < FAKE_GPUS; i++) {
        handles[i] = (struct nv_device_opaque){.magic = MAGIC, .gpu = i, .mig = -1};
        for (int32_t j = 0; j < FAKE_MIG_INDICES; j++) {
            mig_handles[i][j] = (struct nv_device_opaque){.magic = MAGIC, .gpu = i, .mig = j};
        }
    }
}

/* Reads the file when it is not the one of before. */
static void refresh(void)
{
    const char *path = getenv("FAKE_NVML");
    struct stat now;
    memset(&now, 0, sizeof now);
    pthread_rwlock_wrlock(&lock);
    if (path) {
        (void)stat(path, &now);
    }
    if (loaded_ns == 0 || now.st_mtim.tv_nsec != seen.st_mtim.tv_nsec ||
        now.st_mtim.tv_sec != seen.st_mtim.tv_sec || now.st_ino != seen.st_ino ||
        now.st_size != seen.st_size) {
        seen = now;
        fake_script_read(path, &script);
    }
    if (loaded_ns == 0) {
        loaded_ns = now_ns();
        make_handles();
    }
    atomic_store(&checked_ns, now_ns());
    pthread_rwlock_unlock(&lock);
}

/* The rule for a call, or NULL; lock held. */
static const struct fake_rule *find_rule(const char *function, int32_t gpu, bool hang)
{
    for (uint32_t i = 0; i < script.rule_count; i++) {
        const struct fake_rule *rule = &script.rules[i];
        bool named =
            strcmp(rule->function, function) == 0 || (strcmp(rule->function, "*") == 0 && gpu >= 0);
        if (named && (rule->gpu < 0 || rule->gpu == gpu) && (rule->hang_s > 0) == hang) {
            return rule;
        }
    }
    return NULL;
}

/* Returns when the time is over or the script no longer says so. */
static void hang_if_told(const char *function, int32_t gpu)
{
    int64_t begin = now_ns();
    for (;;) {
        pthread_rwlock_rdlock(&lock);
        const struct fake_rule *rule = find_rule(function, gpu, true);
        double hang_s = rule ? rule->hang_s : 0;
        pthread_rwlock_unlock(&lock);
        if ((double)(now_ns() - begin) / 1e9 >= hang_s) {
            return;
        }
        (void)usleep(5000);
        refresh();
    }
}

/* The cost of a call is processor time, as in a driver. */
static void spend(double cost_us)
{
    int64_t until = now_ns() + (int64_t)(cost_us * 1000);
    while (cost_us > 0 && now_ns() < until) {
    }
}

/* The code that the script wants of a call; lock held. */
static int decide(const char *function, int32_t gpu)
{
    bool init = strcmp(function, "nvmlInit_v2") == 0;
    if (!init && !started) {
        return NV_UNINITIALIZED;
    }
    if (!init && started_generation != script.generation) {
        return NV_LIB_RM_VERSION_MISMATCH;
    }
    const struct fake_rule *rule = find_rule(function, gpu, false);
    if (rule) {
        return rule->code;
    }
    if (gpu >= 0 && (uint32_t)gpu >= script.gpu_count) {
        return NV_INVALID_ARGUMENT;
    }
    return gpu >= 0 && script.gpus[gpu].lost ? NV_GPU_IS_LOST : NV_SUCCESS;
}

int fake_begin(nv_device handle, bool system, const char *function)
{
    if (!system && (!handle || handle->magic != MAGIC)) {
        (void)fprintf(stderr, "fake libnvidia-ml: %s with a handle that was never given\n",
                      function);
        abort();
    }
    int32_t gpu = handle ? (int32_t)handle->gpu : -1;
    if (now_ns() - atomic_load(&checked_ns) > CHECK_NS) {
        refresh();
    }
    pthread_rwlock_rdlock(&lock);
    double cost_us = script.cost_us;
    bool hangs = find_rule(function, gpu, true) != NULL;
    pthread_rwlock_unlock(&lock);
    if (hangs) {
        hang_if_told(function, gpu);
    }
    spend(cost_us);
    pthread_rwlock_rdlock(&lock);
    int code = decide(function, gpu);
    if (code != NV_SUCCESS) {
        pthread_rwlock_unlock(&lock);
    }
    return code;
}

int fake_end(int code)
{
    pthread_rwlock_unlock(&lock);
    return code;
}

const struct fake_script *fake_script(void)
{
    return &script;
}

const struct fake_gpu *fake_gpu(nv_device handle)
{
    return &script.gpus[handle->gpu];
}

nv_device fake_handle(uint32_t gpu)
{
    return &handles[gpu];
}

nv_device fake_mig_handle(uint32_t gpu, uint32_t index)
{
    return &mig_handles[gpu][index];
}

const struct fake_mig *fake_mig(nv_device handle)
{
    for (uint32_t i = 0; i < script.mig_count && handle->mig >= 0; i++) {
        if (script.migs[i].gpu == handle->gpu && script.migs[i].index == (uint32_t)handle->mig) {
            return &script.migs[i];
        }
    }
    return NULL;
}

int64_t fake_elapsed_us(void)
{
    return (now_ns() - loaded_ns) / 1000;
}

bool fake_next_event(uint32_t timeout_ms, struct fake_event *out)
{
    int64_t until = now_ns() + (int64_t)timeout_ms * 1000000;
    for (;;) {
        refresh();
        pthread_rwlock_wrlock(&lock);
        bool found = told_events < script.event_count;
        if (found) {
            *out = script.events[told_events++];
        }
        pthread_rwlock_unlock(&lock);
        if (found || now_ns() >= until) {
            return found;
        }
        (void)usleep(5000);
    }
}

/* ---- starting and stopping ------------------------------------------------------------------- */

int nvmlInit_v2(void);
int nvmlShutdown(void);

int nvmlInit_v2(void)
{
    int code = fake_begin(NULL, true, __func__);
    if (code != NV_SUCCESS) {
        return code;
    }
    int64_t allowed = script.descriptors;
    (void)fake_end(code);
    struct rlimit limit;
    if (allowed && getrlimit(RLIMIT_NOFILE, &limit) == 0 && (int64_t)limit.rlim_cur > allowed) {
        return NV_INSUFFICIENT_RESOURCES;
    }
    pthread_rwlock_wrlock(&lock);
    started++;
    started_generation = script.generation;
    pthread_rwlock_unlock(&lock);
    return NV_SUCCESS;
}

int nvmlShutdown(void)
{
    pthread_rwlock_wrlock(&lock);
    started -= started > 0;
    pthread_rwlock_unlock(&lock);
    return NV_SUCCESS;
}
