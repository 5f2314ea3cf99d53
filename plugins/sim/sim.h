/* SPDX-License-Identifier: MIT */
/*
 * Simulated GPUs: what the parts of this plugin share.
 *
 * One call of collect is one tick. Everything that a GPU shows is a function of the seed, its
 * profile, its index and the number of the tick, never of the clock: two runs with the same options
 * show the same values, tick by tick.
 */
#ifndef TACHO_PLUGINS_SIM_H
#define TACHO_PLUGINS_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/plugin.h"

#define SIM_GPU_LIMIT 4096
#define SIM_KEY_SIZE 64
#define SIM_NS_PER_S INT64_C(1000000000)

struct sim_options {
    int64_t gpus;
    struct tacho_strings profile;
    int64_t seed;
    const char *workload;
    struct tacho_strings phases;
    struct tacho_strings faults;
    struct tacho_strings processes;
    int64_t tick_ns;
    double time_scale;
};

/* Indices into the plugin's metric table, in its order. */
enum sim_metric {
    M_STATUS,
    M_DRIVER,
    M_VBIOS,
    M_PSTATE,
    M_UTIL,
    M_MEM_UTIL,
    M_ENC_UTIL,
    M_DEC_UTIL,
    M_MEM_TOTAL,
    M_MEM_USED,
    M_MEM_FREE,
    M_MEM_RESERVED,
    M_TEMP,
    M_MEM_TEMP,
    M_POWER,
    M_POWER_LIMIT,
    M_ENERGY,
    M_CLOCK_GR,
    M_CLOCK_SM,
    M_CLOCK_MEM,
    M_CLOCK_GR_MAX,
    M_CLOCK_MEM_MAX,
    M_FAN,
    M_THROTTLE,
    M_PCIE_GEN,
    M_PCIE_WIDTH,
    M_PCIE_RX,
    M_PCIE_TX,
    M_ECC_CORRECTED,
    M_ECC_UNCORRECTED,
    M_XID_COUNT,
    M_PROCESSES,
    M_GPU_COUNT, /* the values above stand on every GPU */
    M_XID = M_GPU_COUNT,
    M_PROC_MEMORY,
    M_PROC_UTIL,
    M_COUNT,
};

/* Bits of gpu.throttle, as the catalogue names them. */
enum sim_throttle {
    THROTTLE_IDLE = 1 << 0,
    THROTTLE_POWER_CAP = 1 << 2,
    THROTTLE_HW_SLOWDOWN = 1 << 3,
    THROTTLE_HW_THERMAL = 1 << 6,
};

/* One model of card. */
struct sim_profile {
    const char *key;  /* as in the configuration */
    const char *name; /* as the vendor's tools print it */
    const char *vbios;
    int64_t memory_mib, reserved_mib;
    double idle_watts, limit_watts;
    double ambient_celsius, celsius_per_watt, slowdown_celsius;
    int64_t idle_mhz, max_mhz;
    int64_t idle_memory_mhz, max_memory_mhz;
    int32_t idle_pstate;
    int32_t pcie_gen, idle_pcie_gen;
    bool has_fan, has_ecc, has_memory_temp;
};

enum sim_load_kind { LOAD_IDLE, LOAD_TRAINING, LOAD_INFERENCE, LOAD_BURST, LOAD_MIXED };

struct sim_phase {
    enum sim_load_kind kind;
    int64_t length_ns;
};

enum sim_action_kind {
    ACTION_LOST,
    ACTION_BACK,
    ACTION_XID,
    ACTION_THROTTLE,
    ACTION_RELEASE, /* a throttle ends */
    ACTION_HANG,
};

/* One thing that happens at one moment; a fault with a duration makes two. */
struct sim_action {
    enum sim_action_kind kind;
    uint32_t gpu, xid;
    int64_t at_ns, for_ns;
};

struct sim_process {
    bool everywhere; /* on all GPUs */
    uint32_t gpu;
    char *user, *command;
    int64_t bytes;
};

/* What the workload asks of a GPU; shares are 0 to 1. */
struct sim_load {
    enum sim_load_kind kind;
    double compute, intensity, bandwidth, memory;
    double pcie_in, pcie_out, decode;
};

struct sim_gpu {
    uint32_t index;
    const struct sim_profile *profile;
    char key[SIM_KEY_SIZE];
    double spread; /* 0 to 1: how this card differs from its siblings */
    bool lost;
    int throttles; /* faults that hold the clocks down now */
    bool started;  /* has had its first tick since it came (back) */

    struct sim_load load;
    double utilization, watts, celsius, joules;
    double clock_mhz;
    uint64_t throttle_flags;
    int64_t used_bytes;
    int64_t xids, ecc_corrected, ecc_uncorrected;
};

struct sim {
    const struct tacho_host *host;
    const struct sim_options *options;
    uint64_t seed;
    int64_t step_ns; /* simulated time from tick to tick */
    int64_t tick;
    int64_t now_ns; /* simulated */

    struct sim_gpu *gpus;
    uint32_t gpu_count;
    struct sim_phase *phases; /* repeated */
    uint32_t phase_count;
    struct sim_action *actions; /* in the order of time */
    uint32_t action_count, next_action;
    struct sim_process *processes;
    uint32_t process_count;

    pthread_mutex_t lock; /* protects cancelled */
    pthread_cond_t wake;
    bool cancelled;
};

/* ---- profile.c ------------------------------------------------------------------------------- */

/* NULL when there is none of that name. */
const struct sim_profile *sim_profile_find(const char *key);
const char *sim_profile_names(void);

/* ---- parse.c --------------------------------------------------------------------------------- */

/* Reads the lists of the options into sim, which has its GPU count; what they allocate belongs to
 * sim even when they fail. */
int sim_parse_phases(struct sim *sim, struct tacho_err *err);
int sim_parse_faults(struct sim *sim, struct tacho_err *err);
int sim_parse_processes(struct sim *sim, struct tacho_err *err);

/* ---- model.c --------------------------------------------------------------------------------- */

/* Identity of a GPU: key, spread, counters that began before us. */
void sim_gpu_init(const struct sim *sim, struct sim_gpu *gpu);

/* As after a reset: cold, counters at zero. */
void sim_gpu_reset(struct sim_gpu *gpu);

/* Takes a GPU to the tick of sim. */
void sim_gpu_step(const struct sim *sim, struct sim_gpu *gpu);

/* ---- load.c ---------------------------------------------------------------------------------- */

/* A number of -1 to 1 that belongs to this GPU, tick and channel. */
double sim_noise(uint64_t seed, uint32_t gpu, int64_t tick, uint32_t channel);

/* What the workload asks of a GPU now. */
struct sim_load sim_load_at(const struct sim *sim, uint32_t gpu);

/* ---- fill.c ---------------------------------------------------------------------------------- */

void sim_fill_gpu(const struct sim *sim, const struct sim_gpu *gpu, struct tacho_batch *batch);

/* Emits the event that an action makes. */
void sim_emit_event(const struct sim *sim, const struct sim_action *action);

#endif
