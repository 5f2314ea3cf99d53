/* SPDX-License-Identifier: MIT */
/*
 * Provider of NVIDIA GPUs: the tables, the life of an instance, and what a tick comes to. See
 * nvml.h for the parts.
 */
#include "plugins/nvml/nvml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/command.h"
#include "plugins/nvml/fill.h"
#include "plugins/nvml/generation.h"

static const struct tacho_option option_table[] = {
    {.name = "library",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, library),
     .preset = "",
     .help = "Path of the NVML library; none given: libnvidia-ml.so.1 where the loader finds it"},
    {.name = "root",
     .type = TACHO_STRING,
     .offset = offsetof(struct options, root),
     .preset = "",
     .help = "Folder that holds the machine's sys, as in a container; none given: /"},
    {.name = "pcie_throughput",
     .type = TACHO_BOOL,
     .offset = offsetof(struct options, pcie_throughput),
     .preset = "false",
     .help = "Measure PCIe traffic with the driver's own call, which blocks for 40 ms on each GPU"},
};

static const struct tacho_metric metric_table[] = {
#define METRIC(index, name, unit, kind, flags, help) \
    [M_##index] = {name, unit, TACHO_##kind, flags, help},
#include "plugins/nvml/metrics.def"
#undef METRIC
};

static const struct tacho_command command_table[] = {
    {"capabilities", "", "For each GPU and metric: available, or why not and since when"},
    {"release", "", "Let go of the driver, as for its upgrade, until told to resume"},
    {"resume", "", "Take the driver up again after release"},
};

static int nvml_open(const struct tacho_host *host, const void *options, void **out_self,
                     struct tacho_err *err)
{
    struct nvml *nvml = calloc(1, sizeof *nvml);
    if (!nvml) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance of nvml");
    }
    nvml->host = host;
    nvml->options = options;
    *out_self = nvml;
    return TACHO_OK;
}

static void nvml_close(void *self)
{
    struct nvml *nvml = self;
    nvml_unload(nvml);
    if (nvml->abandoned) {
        generation_unref(nvml->abandoned);
    }
    free(nvml->known);
    free(nvml);
}

/* ---- generations ----------------------------------------------------------------------------- */

/* Whether calls of an earlier generation still hang in the driver. */
static bool still_abandoned(struct nvml *nvml)
{
    struct generation *old = nvml->abandoned;
    if (!old) {
        return false;
    }
    pthread_mutex_lock(&old->lock);
    bool hangs = old->running > 0;
    pthread_mutex_unlock(&old->lock);
    if (!hangs) {
        nvml->abandoned = NULL;
        generation_unref(old);
    }
    return hangs;
}

void nvml_unload(struct nvml *nvml)
{
    struct generation *generation = nvml->generation;
    if (!generation) {
        return;
    }
    nvml->generation = NULL;
    atomic_fetch_add(&generation->refs, 1);
    if (generation_end(generation) || nvml->abandoned) {
        generation_unref(generation);
    } else {
        nvml->abandoned = generation;
    }
}

static int load(struct nvml *nvml, struct tacho_err *err)
{
    if (nvml->generation) {
        return TACHO_OK;
    }
    /* Hung calls must not pile up: at most one generation of them. */
    if (still_abandoned(nvml)) {
        return tacho_fail(err, TACHO_RETRY,
                          "calls of before still hang in the NVIDIA driver; waiting for them "
                          "(check the kernel log for NVRM lines)");
    }
    int result = generation_open(nvml, &nvml->generation, err);
    if (result != TACHO_OK) {
        return result;
    }
    nvml->generations++;
    (void)snprintf(nvml->driver_version, sizeof nvml->driver_version, "%s",
                   nvml->generation->driver_version);
    return TACHO_OK;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static int say(const struct tally *tally, struct tacho_err *err)
{
    if (tally->failed + tally->stuck == 0) {
        return TACHO_OK;
    }
    return tacho_fail(err, TACHO_PARTIAL,
                      "of %" PRIu32 " GPUs %" PRIu32 " failed and %" PRIu32
                      " do not answer; check the kernel log for NVRM lines",
                      tally->total, tally->failed, tally->stuck);
}

static int nvml_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                        struct tacho_err *err)
{
    struct nvml *nvml = self;
    struct tally tally;
    if (nvml->released) {
        return TACHO_NO_DATA;
    }
    int result = load(nvml, err);
    if (result != TACHO_OK) {
        return result;
    }
    int64_t now_ns = nvml->host->mono_ns();
    generation_tick(nvml->generation, now_ns + (deadline_ns - now_ns) / 5 * 4);
    fill_batch(nvml, batch, &tally);
    if (tally.ending != NV_SUCCESS) {
        (void)tacho_fail(err, TACHO_RETRY,
                         "the NVIDIA driver went away: %s (code %d); loading its library anew",
                         nvml_lib_error(&nvml->generation->lib, tally.ending), tally.ending);
        nvml_unload(nvml);
        return TACHO_RETRY;
    }
    return say(&tally, err);
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "nvml",
    .version = "1.0",
    .summary = "NVIDIA GPUs by way of the driver's NVML library",
    .flags = TACHO_ISOLATE,
    TACHO_OPTIONS(option_table, struct options),
    TACHO_METRICS(metric_table),
    TACHO_COMMANDS(command_table),
    .open = nvml_open,
    .close = nvml_close,
    .collect = nvml_collect,
    .call = nvml_call,
};
