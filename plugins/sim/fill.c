/* SPDX-License-Identifier: MIT */
/* Writes simulated GPUs, their processes and their events into batches. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "plugins/sim/sim.h"

#define DRIVER_VERSION "590.48.01"
#define MHZ INT64_C(1000000)
#define PROCESS_LIMIT_TEXT 32

/* What the driver prints for an XID, in our words. */
static const struct {
    uint32_t xid;
    int severity;
    const char *meaning;
} xid_table[] = {
    {13, TACHO_SEVERITY_WARNING, "graphics engine exception"},
    {31, TACHO_SEVERITY_WARNING, "memory page fault of a program"},
    {43, TACHO_SEVERITY_WARNING, "a program stopped the GPU"},
    {45, TACHO_SEVERITY_WARNING, "a program was removed from the GPU"},
    {48, TACHO_SEVERITY_CRITICAL, "double-bit memory error"},
    {63, TACHO_SEVERITY_WARNING, "a row of memory was remapped"},
    {64, TACHO_SEVERITY_CRITICAL, "a row of memory could not be remapped"},
    {74, TACHO_SEVERITY_CRITICAL, "NVLink error"},
    {79, TACHO_SEVERITY_CRITICAL, "the GPU has fallen off the bus"},
    {92, TACHO_SEVERITY_WARNING, "many single-bit memory errors"},
    {94, TACHO_SEVERITY_CRITICAL, "contained memory error"},
    {95, TACHO_SEVERITY_CRITICAL, "uncontained memory error"},
    {119, TACHO_SEVERITY_CRITICAL, "the GPU's system processor does not answer"},
};

static void open_gpu(const struct sim *sim, const struct sim_gpu *gpu, struct tacho_batch *batch,
                     int32_t *out_index)
{
    const struct tacho_host *host = sim->host;
    char text[96];
    *out_index = host->entity(batch, "gpu", gpu->key, -1, 0);
    (void)snprintf(text, sizeof text, "%" PRIu32, gpu->index);
    host->label(batch, "index", text);
    (void)snprintf(text, sizeof text, "%s (simulated)", gpu->profile->name);
    host->label(batch, "name", text);
    (void)snprintf(text, sizeof text, "%04" PRIx32 ":%02" PRIx32 ":00.0", gpu->index / 128,
                   gpu->index % 128 + 1);
    host->label(batch, "pci_bus_id", text);
    host->label(batch, "simulated", "true");
}

static void fill_load(const struct sim *sim, const struct sim_gpu *gpu, struct tacho_batch *batch)
{
    const struct tacho_host *host = sim->host;
    const struct sim_profile *profile = gpu->profile;
    int64_t total = profile->memory_mib << 20;
    int64_t reserved = profile->reserved_mib << 20;
    host->i64(batch, M_UTIL, (int64_t)gpu->utilization);
    host->i64(batch, M_MEM_UTIL, (int64_t)round(100 * gpu->load.bandwidth));
    host->i64(batch, M_ENC_UTIL, 0);
    host->i64(batch, M_DEC_UTIL, (int64_t)round(100 * gpu->load.decode));
    host->i64(batch, M_MEM_TOTAL, total);
    host->i64(batch, M_MEM_USED, gpu->used_bytes);
    host->i64(batch, M_MEM_FREE, total - reserved - gpu->used_bytes);
    host->i64(batch, M_MEM_RESERVED, reserved);
}

/* A value, or the word that this model of card does not have it. */
static void fill_if(const struct sim *sim, struct tacho_batch *batch, bool has, int32_t metric,
                    double value)
{
    if (has) {
        sim->host->i64(batch, metric, (int64_t)round(value));
    } else {
        sim->host->absent(batch, metric, TACHO_ABSENT_UNSUPPORTED);
    }
}

/* The usual fan curve: still up to 50 degrees, then from 30 percent upwards. */
static double fan_percent(const struct sim_gpu *gpu)
{
    double percent = gpu->celsius < 50 ? 0 : 30 + 1.8 * (gpu->celsius - 50);
    return percent > 100 ? 100 : percent;
}

static void fill_physics(const struct sim *sim, const struct sim_gpu *gpu,
                         struct tacho_batch *batch)
{
    const struct tacho_host *host = sim->host;
    const struct sim_profile *profile = gpu->profile;
    bool idle = gpu->throttle_flags & THROTTLE_IDLE;
    int64_t clock = (int64_t)gpu->clock_mhz * MHZ;
    host->i64(batch, M_TEMP, (int64_t)round(gpu->celsius));
    fill_if(sim, batch, profile->has_memory_temp, M_MEM_TEMP, 34 + gpu->celsius / 3);
    host->f64(batch, M_POWER, gpu->watts);
    host->f64(batch, M_POWER_LIMIT, profile->limit_watts);
    host->f64(batch, M_ENERGY, round(gpu->joules * 1000) / 1000);
    host->i64(batch, M_CLOCK_GR, clock);
    host->i64(batch, M_CLOCK_SM, clock);
    host->i64(batch, M_CLOCK_MEM,
              (idle ? profile->idle_memory_mhz : profile->max_memory_mhz) * MHZ);
    host->i64(batch, M_CLOCK_GR_MAX, profile->max_mhz * MHZ);
    host->i64(batch, M_CLOCK_MEM_MAX, profile->max_memory_mhz * MHZ);
    fill_if(sim, batch, profile->has_fan, M_FAN, fan_percent(gpu));
    host->flags(batch, M_THROTTLE, gpu->throttle_flags);
}

static uint32_t process_count(const struct sim *sim, const struct sim_gpu *gpu)
{
    if (sim->process_count == 0) {
        return gpu->load.memory > 0 ? 1 : 0;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim->process_count; i++) {
        count += sim->processes[i].everywhere || sim->processes[i].gpu == gpu->index;
    }
    return count;
}

static void fill_bus(const struct sim *sim, const struct sim_gpu *gpu, struct tacho_batch *batch)
{
    const struct tacho_host *host = sim->host;
    const struct sim_profile *profile = gpu->profile;
    bool idle = gpu->throttle_flags & THROTTLE_IDLE;
    /* Sixteen lanes of generation 3 carry 15.8 GB/s; each generation doubles it. */
    double link = 15.8e9 * exp2(profile->pcie_gen - 3);
    host->i64(batch, M_PCIE_GEN, idle ? profile->idle_pcie_gen : profile->pcie_gen);
    host->i64(batch, M_PCIE_WIDTH, 16);
    host->i64(batch, M_PCIE_RX, (int64_t)(gpu->load.pcie_in * link));
    host->i64(batch, M_PCIE_TX, (int64_t)(gpu->load.pcie_out * link));
    fill_if(sim, batch, profile->has_ecc, M_ECC_CORRECTED, (double)gpu->ecc_corrected);
    fill_if(sim, batch, profile->has_ecc, M_ECC_UNCORRECTED, (double)gpu->ecc_uncorrected);
    host->i64(batch, M_XID_COUNT, gpu->xids);
    host->i64(batch, M_PROCESSES, process_count(sim, gpu));
}

/* One process below its GPU; nth of that GPU, which also makes its pid. */
static void fill_process(const struct sim *sim, const struct sim_gpu *gpu, int32_t parent,
                         uint32_t nth, const struct sim_process *process, struct tacho_batch *batch)
{
    const struct tacho_host *host = sim->host;
    char pid[PROCESS_LIMIT_TEXT];
    (void)snprintf(pid, sizeof pid, "%" PRIu32, 10000 + gpu->index * 64 + nth);
    host->entity(batch, "process", pid, parent, TACHO_VOLATILE);
    host->label(batch, "pid", pid);
    host->label(batch, "user", process->user);
    host->label(batch, "command", process->command);
    host->i64(batch, M_PROC_MEMORY, process->bytes);
    host->i64(batch, M_PROC_UTIL, (int64_t)(gpu->utilization / process_count(sim, gpu)));
}

static const char *const load_commands[] = {[LOAD_IDLE] = "python3 notebook.py",
                                            [LOAD_TRAINING] = "python3 train.py",
                                            [LOAD_INFERENCE] = "python3 serve.py",
                                            [LOAD_BURST] = "python3 batch.py"};

static void fill_processes(const struct sim *sim, const struct sim_gpu *gpu, int32_t parent,
                           struct tacho_batch *batch)
{
    if (sim->process_count == 0 && process_count(sim, gpu) > 0) {
        struct sim_process process = {.user = (char *)"sim",
                                      .command = (char *)load_commands[gpu->load.kind],
                                      .bytes = gpu->used_bytes - (1 << 20)};
        fill_process(sim, gpu, parent, 0, &process, batch);
    }
    uint32_t nth = 0;
    for (uint32_t i = 0; i < sim->process_count; i++) {
        const struct sim_process *process = &sim->processes[i];
        if (process->everywhere || process->gpu == gpu->index) {
            fill_process(sim, gpu, parent, nth++, process, batch);
        }
    }
}

/* Stays visible under its key; nothing is known of it but that. */
static void fill_lost(const struct sim *sim, struct tacho_batch *batch)
{
    sim->host->text(batch, M_STATUS, "failed");
    for (int32_t metric = M_STATUS + 1; metric < M_GPU_COUNT; metric++) {
        sim->host->absent(batch, metric, TACHO_ABSENT_LOST);
    }
}

void sim_fill_gpu(const struct sim *sim, const struct sim_gpu *gpu, struct tacho_batch *batch)
{
    int32_t index;
    open_gpu(sim, gpu, batch, &index);
    if (gpu->lost) {
        fill_lost(sim, batch);
        return;
    }
    bool idle = gpu->throttle_flags & THROTTLE_IDLE;
    sim->host->text(batch, M_STATUS, "ok");
    sim->host->text(batch, M_DRIVER, DRIVER_VERSION);
    sim->host->text(batch, M_VBIOS, gpu->profile->vbios);
    sim->host->i64(batch, M_PSTATE, idle ? gpu->profile->idle_pstate : 0);
    fill_load(sim, gpu, batch);
    fill_physics(sim, gpu, batch);
    fill_bus(sim, gpu, batch);
    fill_processes(sim, gpu, index, batch);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void fill_xid(const struct sim *sim, const struct sim_action *action, const char *name,
                     struct tacho_batch *batch)
{
    char message[160];
    int severity = TACHO_SEVERITY_WARNING;
    const char *meaning = "see the driver's list of XID errors";
    for (uint32_t i = 0; i < TACHO_COUNT(xid_table); i++) {
        if (xid_table[i].xid == action->xid) {
            severity = xid_table[i].severity;
            meaning = xid_table[i].meaning;
        }
    }
    (void)snprintf(message, sizeof message, "XID %" PRIu32 " on %s: %s", action->xid, name,
                   meaning);
    sim->host->event(batch, "xid", severity, message);
    sim->host->i64(batch, M_XID, action->xid);
}

static void fill_event(const struct sim *sim, const struct sim_action *action, const char *name,
                       struct tacho_batch *batch)
{
    static const struct {
        const char *type;
        int severity;
        const char *format;
    } kinds[] = {
        [ACTION_LOST] = {"gpu_lost", TACHO_SEVERITY_CRITICAL, "is lost"},
        [ACTION_BACK] = {"gpu_back", TACHO_SEVERITY_INFO, "is back"},
        [ACTION_THROTTLE] = {"throttle_start", TACHO_SEVERITY_WARNING,
                             "slows down: too hot (hw_slowdown, hw_thermal)"},
        [ACTION_RELEASE] = {"throttle_stop", TACHO_SEVERITY_INFO, "runs at full speed again"},
    };
    char message[160];
    (void)snprintf(message, sizeof message, "%s %s", name, kinds[action->kind].format);
    sim->host->event(batch, kinds[action->kind].type, kinds[action->kind].severity, message);
}

void sim_emit_event(const struct sim *sim, const struct sim_action *action)
{
    struct tacho_batch *batch = sim->host->batch_new(sim->host);
    if (!batch) {
        sim->host->log(sim->host, TACHO_LOG_WARN, "no memory for the event of a fault");
        return;
    }
    char name[32];
    int32_t index;
    open_gpu(sim, &sim->gpus[action->gpu], batch, &index);
    (void)snprintf(name, sizeof name, "GPU %" PRIu32 " (simulated)", action->gpu);
    if (action->kind == ACTION_XID) {
        fill_xid(sim, action, name, batch);
    } else {
        fill_event(sim, action, name, batch);
    }
    (void)sim->host->emit(sim->host, batch);
}
