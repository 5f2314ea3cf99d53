/* SPDX-License-Identifier: MIT */
/*
 * Provider of simulated GPUs: the tables, and the life of an instance. What a workload asks is in
 * load.c, how a card answers in model.c, what is written in fill.c, the option texts in parse.c.
 */
#include "plugins/sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct tacho_option option_table[] = {
    {.name = "gpus",
     .type = TACHO_INT,
     .offset = offsetof(struct sim_options, gpus),
     .preset = "2",
     .minimum = 1,
     .maximum = SIM_GPU_LIMIT,
     .help = "How many GPUs"},
    {.name = "profile",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct sim_options, profile),
     .preset = "h100",
     .help = "Model of card: h100, a100, l40s or rtx4090; of a list, the GPUs take turns"},
    {.name = "seed",
     .type = TACHO_INT,
     .offset = offsetof(struct sim_options, seed),
     .preset = "1",
     .minimum = 0,
     .maximum = 2147483647,
     .help = "The same seed gives the same GPUs and the same values, tick by tick"},
    {.name = "workload",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct sim_options, workload),
     .preset = "mixed",
     .choices = "idle|training|inference|burst|mixed",
     .help = "What runs on the GPUs; mixed gives each of four GPUs another"},
    {.name = "phases",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct sim_options, phases),
     .help = "Workloads one after the other, again and again, instead of one: \"idle:30s\", …"},
    {.name = "faults",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct sim_options, faults),
     .help = "What goes wrong and when: lost:GPU@TIME, back:GPU@TIME, xid:NUMBER:GPU@TIME, "
             "throttle:GPU@TIME+DURATION, hang@TIME+DURATION"},
    {.name = "processes",
     .type = TACHO_STRINGS,
     .offset = offsetof(struct sim_options, processes),
     .help = "Programs that hold memory, as GPU:USER:COMMAND:MEMORY; none given: one for each "
             "busy GPU"},
    {.name = "tick",
     .type = TACHO_DURATION,
     .offset = offsetof(struct sim_options, tick_ns),
     .preset = "0s",
     .minimum = 0,
     .maximum = 3600,
     .help = "Simulated time from one reading to the next; 0: the interval of the provider"},
    {.name = "time_scale",
     .type = TACHO_FLOAT,
     .offset = offsetof(struct sim_options, time_scale),
     .preset = "1.0",
     .minimum = 0.001,
     .maximum = 100000,
     .help = "Simulated time passes so many times as fast"},
};

static const struct tacho_metric metric_table[] = {
    [M_STATUS] = {"gpu.status", "", TACHO_STATE, NULL, "ok or failed"},
    [M_DRIVER] = {"gpu.driver_version", "", TACHO_INFO, NULL, "Version of the kernel driver"},
    [M_VBIOS] = {"gpu.vbios_version", "", TACHO_INFO, NULL, "Version of the card's firmware"},
    [M_PSTATE] = {"gpu.pstate", "", TACHO_GAUGE, NULL, "Performance state"},
    [M_UTIL] = {"gpu.utilization", "percent", TACHO_GAUGE, NULL,
                "Time in which a kernel was running"},
    [M_MEM_UTIL] = {"gpu.memory_utilization", "percent", TACHO_GAUGE, NULL,
                    "Time in which device memory was read or written"},
    [M_ENC_UTIL] = {"gpu.encoder_utilization", "percent", TACHO_GAUGE, NULL,
                    "Load of the video encoder"},
    [M_DEC_UTIL] = {"gpu.decoder_utilization", "percent", TACHO_GAUGE, NULL,
                    "Load of the video decoder"},
    [M_MEM_TOTAL] = {"gpu.memory.total", "bytes", TACHO_GAUGE, NULL, "Device memory"},
    [M_MEM_USED] = {"gpu.memory.used", "bytes", TACHO_GAUGE, NULL, "Device memory in use"},
    [M_MEM_FREE] = {"gpu.memory.free", "bytes", TACHO_GAUGE, NULL, "Device memory not in use"},
    [M_MEM_RESERVED] = {"gpu.memory.reserved", "bytes", TACHO_GAUGE, NULL,
                        "Device memory kept by driver and firmware"},
    [M_TEMP] = {"gpu.temperature", "celsius", TACHO_GAUGE, NULL, "Temperature of the GPU die"},
    [M_MEM_TEMP] = {"gpu.memory.temperature", "celsius", TACHO_GAUGE, NULL,
                    "Temperature of the device memory"},
    [M_POWER] = {"gpu.power", "watts", TACHO_GAUGE, NULL, "Power drawn by the whole board"},
    [M_POWER_LIMIT] = {"gpu.power_limit", "watts", TACHO_GAUGE, NULL, "Power limit in force"},
    [M_ENERGY] = {"gpu.energy", "joules", TACHO_COUNTER, NULL, "Integral of the power"},
    [M_CLOCK_GR] = {"gpu.clock.graphics", "hertz", TACHO_GAUGE, NULL, "Graphics clock"},
    [M_CLOCK_SM] = {"gpu.clock.sm", "hertz", TACHO_GAUGE, NULL,
                    "Clock of the streaming multiprocessors"},
    [M_CLOCK_MEM] = {"gpu.clock.memory", "hertz", TACHO_GAUGE, NULL, "Memory clock"},
    [M_CLOCK_GR_MAX] = {"gpu.clock.graphics_max", "hertz", TACHO_GAUGE, NULL,
                        "Highest graphics clock"},
    [M_CLOCK_MEM_MAX] = {"gpu.clock.memory_max", "hertz", TACHO_GAUGE, NULL,
                         "Highest memory clock"},
    [M_FAN] = {"gpu.fan", "percent", TACHO_GAUGE, NULL, "Fan speed"},
    [M_THROTTLE] = {"gpu.throttle", "", TACHO_STATE,
                    "gpu_idle|applications_clocks|sw_power_cap|hw_slowdown|sync_boost|sw_thermal|"
                    "hw_thermal|hw_power_brake|display_clocks",
                    "Why the clocks are below their maximum"},
    [M_PCIE_GEN] = {"gpu.pcie.generation", "", TACHO_GAUGE, NULL, "PCIe generation in use"},
    [M_PCIE_WIDTH] = {"gpu.pcie.width", "", TACHO_GAUGE, NULL, "PCIe lanes in use"},
    [M_PCIE_RX] = {"gpu.pcie.received", "bytes/s", TACHO_GAUGE, NULL, "PCIe traffic to the GPU"},
    [M_PCIE_TX] = {"gpu.pcie.sent", "bytes/s", TACHO_GAUGE, NULL, "PCIe traffic from the GPU"},
    [M_ECC_CORRECTED] = {"gpu.ecc.corrected", "", TACHO_COUNTER, NULL, "Corrected memory errors"},
    [M_ECC_UNCORRECTED] = {"gpu.ecc.uncorrected", "", TACHO_COUNTER, NULL,
                           "Uncorrected memory errors"},
    [M_XID_COUNT] = {"gpu.xid.count", "", TACHO_COUNTER, NULL, "XID errors since the start"},
    [M_PROCESSES] = {"gpu.processes", "", TACHO_GAUGE, NULL, "Processes on the GPU"},
    [M_XID] = {"gpu.xid", "", TACHO_GAUGE, NULL, "XID error that an event tells of"},
    [M_PROC_MEMORY] = {"gpu.process.memory", "bytes", TACHO_GAUGE, NULL,
                       "Device memory held by the process"},
    [M_PROC_UTIL] = {"gpu.process.utilization", "percent", TACHO_GAUGE, NULL,
                     "Share of the GPU used by the process"},
};

_Static_assert(TACHO_COUNT(metric_table) == M_COUNT, "one row for each index");

/* ---- life ------------------------------------------------------------------------------------ */

static int make_gpus(struct sim *sim, struct tacho_err *err)
{
    const struct tacho_strings *profiles = &sim->options->profile;
    sim->gpus = calloc(sim->gpu_count, sizeof *sim->gpus);
    if (!sim->gpus) {
        return tacho_fail(err, TACHO_RETRY, "no memory for %" PRIu32 " GPUs", sim->gpu_count);
    }
    for (uint32_t i = 0; i < sim->gpu_count; i++) {
        const char *key = profiles->count ? profiles->items[i % profiles->count] : "h100";
        const struct sim_profile *profile = sim_profile_find(key);
        if (!profile) {
            return tacho_fail(err, TACHO_CONFIG, "profile: \"%s\" is not %s", key,
                              sim_profile_names());
        }
        sim->gpus[i].index = i;
        sim->gpus[i].profile = profile;
        sim_gpu_init(sim, &sim->gpus[i]);
    }
    return TACHO_OK;
}

/* A list that is longer than the GPUs still has to be right. */
static int check_profiles(const struct sim_options *options, struct tacho_err *err)
{
    for (uint32_t i = 0; i < options->profile.count; i++) {
        if (!sim_profile_find(options->profile.items[i])) {
            return tacho_fail(err, TACHO_CONFIG, "profile: \"%s\" is not %s",
                              options->profile.items[i], sim_profile_names());
        }
    }
    return TACHO_OK;
}

/* Simulated time from tick to tick. */
static int64_t step_of(const struct tacho_host *host, const struct sim_options *options)
{
    int64_t tick_ns = options->tick_ns;
    if (tick_ns == 0) {
        tick_ns = strtoll(host->setting(host, TACHO_SETTING_INTERVAL), NULL, 10);
    }
    if (tick_ns <= 0) {
        tick_ns = SIM_NS_PER_S;
    }
    double step = (double)tick_ns * options->time_scale;
    return step < 1 ? 1 : (int64_t)step;
}

static void sim_close(void *self)
{
    struct sim *sim = self;
    for (uint32_t i = 0; i < sim->process_count; i++) {
        free(sim->processes[i].user);
        free(sim->processes[i].command);
    }
    free(sim->processes);
    free(sim->actions);
    free(sim->phases);
    free(sim->gpus);
    pthread_cond_destroy(&sim->wake);
    pthread_mutex_destroy(&sim->lock);
    free(sim);
}

static void init_wait(struct sim *sim)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sim->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&sim->lock, NULL);
}

static int sim_open(const struct tacho_host *host, const void *options, void **out_self,
                    struct tacho_err *err)
{
    struct sim *sim = calloc(1, sizeof *sim);
    if (!sim) {
        return tacho_fail(err, TACHO_RETRY, "no memory for an instance of sim");
    }
    init_wait(sim);
    sim->host = host;
    sim->options = options;
    sim->seed = (uint64_t)sim->options->seed;
    sim->gpu_count = (uint32_t)sim->options->gpus;
    sim->step_ns = step_of(host, sim->options);
    sim->tick = -1;
    int result = check_profiles(sim->options, err);
    result = result == TACHO_OK ? make_gpus(sim, err) : result;
    result = result == TACHO_OK ? sim_parse_phases(sim, err) : result;
    result = result == TACHO_OK ? sim_parse_faults(sim, err) : result;
    result = result == TACHO_OK ? sim_parse_processes(sim, err) : result;
    if (result != TACHO_OK) {
        sim_close(sim);
        return result;
    }
    *out_self = sim;
    return TACHO_OK;
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* Blocks for that long, as a driver that hangs does. False when cancelled. */
static bool hang(struct sim *sim, int64_t for_ns)
{
    int64_t until = sim->host->mono_ns() + (int64_t)((double)for_ns / sim->options->time_scale);
    struct timespec limit = {.tv_sec = until / SIM_NS_PER_S, .tv_nsec = until % SIM_NS_PER_S};
    pthread_mutex_lock(&sim->lock);
    int waited = 0;
    while (!sim->cancelled && waited == 0) {
        waited = pthread_cond_timedwait(&sim->wake, &sim->lock, &limit);
    }
    bool whole = !sim->cancelled;
    sim->cancelled = false;
    pthread_mutex_unlock(&sim->lock);
    return whole;
}

/* Memory errors come with some XIDs. */
static void count_xid(struct sim_gpu *gpu, uint32_t xid)
{
    gpu->xids++;
    if (gpu->profile->has_ecc && (xid == 48 || xid == 94 || xid == 95)) {
        gpu->ecc_uncorrected++;
    }
}

/* What a fault does to its GPU; false when nothing happened that is worth an event. */
static bool apply(struct sim_gpu *gpu, const struct sim_action *action)
{
    switch (action->kind) {
    case ACTION_LOST:
    case ACTION_BACK:
        if (gpu->lost == (action->kind == ACTION_LOST)) {
            return false;
        }
        gpu->lost = !gpu->lost;
        if (!gpu->lost) {
            sim_gpu_reset(gpu);
        }
        return true;
    case ACTION_XID: count_xid(gpu, action->xid); return true;
    case ACTION_THROTTLE: return gpu->throttles++ == 0;
    case ACTION_RELEASE: return --gpu->throttles == 0;
    case ACTION_HANG:
    default: return false;
    }
}

/* Lets happen what is due; returns how long the call has to hang. */
static int64_t run_faults(struct sim *sim)
{
    int64_t hang_ns = 0;
    while (sim->next_action < sim->action_count &&
           sim->actions[sim->next_action].at_ns <= sim->now_ns) {
        const struct sim_action *action = &sim->actions[sim->next_action++];
        if (action->kind == ACTION_HANG) {
            hang_ns += action->for_ns;
        } else if (apply(&sim->gpus[action->gpu], action)) {
            sim_emit_event(sim, action);
        }
    }
    return hang_ns;
}

static int sim_collect(void *self, struct tacho_batch *batch, int64_t deadline_ns,
                       struct tacho_err *err)
{
    (void)deadline_ns;
    struct sim *sim = self;
    sim->tick++;
    sim->now_ns = sim->tick * sim->step_ns;
    int64_t hang_ns = run_faults(sim);
    if (hang_ns > 0 && !hang(sim, hang_ns)) {
        return tacho_fail(err, TACHO_RETRY, "the simulated hang was cut short");
    }
    uint32_t lost = 0;
    for (uint32_t i = 0; i < sim->gpu_count; i++) {
        if (!sim->gpus[i].lost) {
            sim_gpu_step(sim, &sim->gpus[i]);
        }
        sim_fill_gpu(sim, &sim->gpus[i], batch);
        lost += sim->gpus[i].lost;
    }
    return lost == 0 ? TACHO_OK
                     : tacho_fail(err, TACHO_PARTIAL, "%" PRIu32 " of %" PRIu32 " GPUs %s lost",
                                  lost, sim->gpu_count, lost == 1 ? "is" : "are");
}

static void sim_cancel(void *self)
{
    struct sim *sim = self;
    pthread_mutex_lock(&sim->lock);
    sim->cancelled = true;
    pthread_cond_signal(&sim->wake);
    pthread_mutex_unlock(&sim->lock);
}

const struct tacho_plugin tacho_plugin_v1 = {
    TACHO_PLUGIN_HEADER,
    .name = "sim",
    .version = "1.0",
    .summary = "Simulated GPUs: seeded, repeatable, with workloads and faults",
    .flags = TACHO_SYNTHETIC,
    TACHO_OPTIONS(option_table, struct sim_options),
    TACHO_METRICS(metric_table),
    .open = sim_open,
    .close = sim_close,
    .collect = sim_collect,
    .cancel = sim_cancel,
};
