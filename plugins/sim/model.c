/* SPDX-License-Identifier: MIT */
/*
 * How a card answers to its load: power follows use and clocks, temperature follows power with the
 * lag of a heat sink, energy is the integral of the power that was shown, and clocks give way to
 * the power limit and to faults.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "plugins/sim/sim.h"

#define POWER_LAG_S 0.4
#define HEAT_LAG_S 20.0
#define THROTTLED_CLOCK 0.45

/* Channels of noise above those of load.c. */
enum { NOISE_POWER = 16, NOISE_CLOCK, NOISE_ECC, NOISE_SPREAD = 32, NOISE_KEY, NOISE_HISTORY };

static uint64_t key_bits(const struct sim *sim, uint32_t gpu, uint32_t word)
{
    double part = 0.5 + 0.5 * sim_noise(sim->seed, gpu, -1 - (int64_t)word, NOISE_KEY);
    return (uint64_t)(part * 0x1p48);
}

void sim_gpu_init(const struct sim *sim, struct sim_gpu *gpu)
{
    uint64_t first = key_bits(sim, gpu->index, 0);
    uint64_t second = key_bits(sim, gpu->index, 1);
    uint64_t third = key_bits(sim, gpu->index, 2);
    (void)snprintf(gpu->key, sizeof gpu->key,
                   "GPU-SIM-%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                   first >> 16 & UINT32_MAX, first & 0xffff, second >> 32 & 0xffff,
                   second >> 16 & 0xffff, third & UINT64_C(0xffffffffffff));
    gpu->spread = 0.5 + 0.5 * sim_noise(sim->seed, gpu->index, -1, NOISE_SPREAD);
    sim_gpu_reset(gpu);
    /* The driver was there before us. */
    double history = 0.5 + 0.5 * sim_noise(sim->seed, gpu->index, -1, NOISE_HISTORY);
    gpu->joules = floor(history * 1e8);
    gpu->ecc_corrected = gpu->profile->has_ecc ? (int64_t)(history * 8) : 0;
}

static double ambient(const struct sim_gpu *gpu)
{
    return gpu->profile->ambient_celsius + 4 * gpu->spread;
}

void sim_gpu_reset(struct sim_gpu *gpu)
{
    gpu->started = false;
    gpu->watts = gpu->profile->idle_watts;
    gpu->celsius = ambient(gpu) + gpu->profile->celsius_per_watt * gpu->watts;
    gpu->joules = 0;
    gpu->ecc_corrected = 0;
    gpu->ecc_uncorrected = 0;
}

/* How far a lag of that length lets a value come to its aim within one step. */
static double approach(const struct sim *sim, double lag_s)
{
    return 1 - exp(-(double)sim->step_ns / (double)SIM_NS_PER_S / lag_s);
}

static bool active(const struct sim_gpu *gpu)
{
    return gpu->utilization >= 1;
}

/* Power that the load asks for at these clocks, before the limit. */
static double asked_watts(const struct sim *sim, const struct sim_gpu *gpu, double clock_share)
{
    const struct sim_profile *profile = gpu->profile;
    double jitter = sim_noise(sim->seed, gpu->index, sim->tick, NOISE_POWER);
    if (!active(gpu)) {
        return profile->idle_watts * (1 + 0.05 * gpu->spread + 0.01 * jitter);
    }
    double use = 0.10 + 0.84 * gpu->utilization / 100 * gpu->load.intensity * clock_share;
    double watts = profile->idle_watts + (profile->limit_watts - profile->idle_watts) * use;
    return watts * (0.98 + 0.04 * gpu->spread + 0.015 * jitter);
}

/* Clocks, the reasons why they are low, and the power that results. */
static double settle_clocks(const struct sim *sim, struct sim_gpu *gpu)
{
    const struct sim_profile *profile = gpu->profile;
    double share = gpu->throttles > 0 ? THROTTLED_CLOCK : 1.0;
    gpu->throttle_flags = gpu->throttles > 0 ? THROTTLE_HW_SLOWDOWN | THROTTLE_HW_THERMAL : 0;
    double watts = asked_watts(sim, gpu, share);
    if (!active(gpu)) {
        gpu->clock_mhz = (double)profile->idle_mhz;
        gpu->throttle_flags |= THROTTLE_IDLE;
        return watts;
    }
    if (watts > profile->limit_watts) {
        share *= profile->limit_watts / watts;
        watts = profile->limit_watts;
        gpu->throttle_flags |= THROTTLE_POWER_CAP;
    }
    /* Clocks come in steps of 15 MHz. */
    gpu->clock_mhz = floor(share * (double)profile->max_mhz / 15) * 15;
    return watts;
}

static double aimed_celsius(const struct sim_gpu *gpu)
{
    if (gpu->throttles > 0) {
        return gpu->profile->slowdown_celsius + 1;
    }
    return ambient(gpu) + gpu->profile->celsius_per_watt * gpu->watts;
}

static int64_t memory_of(const struct sim *sim, const struct sim_gpu *gpu)
{
    int64_t usable = (gpu->profile->memory_mib - gpu->profile->reserved_mib) << 20;
    int64_t used = INT64_C(1) << 20; /* what the driver shows on an empty card */
    if (sim->process_count == 0) {
        return used + (int64_t)(gpu->load.memory * (double)(usable - used)) / (2 << 20) * (2 << 20);
    }
    for (uint32_t i = 0; i < sim->process_count; i++) {
        const struct sim_process *process = &sim->processes[i];
        used += process->everywhere || process->gpu == gpu->index ? process->bytes : 0;
    }
    return used < usable ? used : usable;
}

void sim_gpu_step(const struct sim *sim, struct sim_gpu *gpu)
{
    gpu->load = sim_load_at(sim, gpu->index);
    gpu->utilization = round(100 * gpu->load.compute);
    gpu->utilization = gpu->utilization < 0 ? 0 : gpu->utilization > 100 ? 100 : gpu->utilization;
    gpu->used_bytes = memory_of(sim, gpu);

    double before = gpu->watts;
    double watts = settle_clocks(sim, gpu);
    if (!gpu->started) {
        gpu->started = true;
        return;
    }
    gpu->watts += (watts - gpu->watts) * approach(sim, POWER_LAG_S);
    gpu->watts = round(gpu->watts * 1000) / 1000;
    double step_s = (double)sim->step_ns / (double)SIM_NS_PER_S;
    gpu->joules += (before + gpu->watts) / 2 * step_s;
    gpu->celsius += (aimed_celsius(gpu) - gpu->celsius) *
                    approach(sim, gpu->throttles > 0 ? HEAT_LAG_S / 5 : HEAT_LAG_S);
    if (gpu->profile->has_ecc &&
        sim_noise(sim->seed, gpu->index, sim->tick, NOISE_ECC) > 1 - 2e-5 * step_s) {
        gpu->ecc_corrected++;
    }
}
