/* SPDX-License-Identifier: MIT */
/*
 * Workloads: what is asked of a GPU at a moment of simulated time. Each is a pure function of that
 * time, of the GPU and of the seed; how the card answers (power, heat, clocks) is left to model.c.
 */
#include <math.h>

#include "plugins/sim/sim.h"

#define PI 3.14159265358979323846

/* The finaliser of SplitMix64: every bit of the input moves every bit of the output. */
static uint64_t scramble(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

double sim_noise(uint64_t seed, uint32_t gpu, int64_t tick, uint32_t channel)
{
    uint64_t place = (uint64_t)gpu << 32 | channel;
    uint64_t bits = scramble(scramble(scramble(seed) ^ place) ^ (uint64_t)tick);
    return (double)(bits >> 11) * 0x1p-52 - 1.0;
}

/* A moment of the simulation as one GPU sees it. */
struct moment {
    uint64_t seed;
    uint32_t gpu;
    int64_t tick;
    double at_s;
};

static double noise(const struct moment *now, uint32_t channel)
{
    return sim_noise(now->seed, now->gpu, now->tick, channel);
}

/* 0 to 1, fixed for this GPU: shifts its cycles against those of the others. */
static double offset(const struct moment *now, uint32_t channel)
{
    return 0.5 + 0.5 * sim_noise(now->seed, now->gpu, -1, channel);
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* Memory of a job that is loading: four steps up to the whole. */
static double loading(double share)
{
    return floor(1 + share * 4) / 4;
}

/* Jobs of ten minutes: load 20 s, train with a checkpoint of 6 s every two minutes, evaluate 20 s,
 * pause 20 s. */
static struct sim_load training(const struct moment *now)
{
    double at = fmod(now->at_s + 20 * offset(now, 1), 600);
    struct sim_load load = {.kind = LOAD_TRAINING, .intensity = 1.06, .memory = 0.88};
    if (at < 20) {
        load.compute = 0.08 + 0.03 * noise(now, 1);
        load.memory = 0.88 * loading(at / 20);
        load.pcie_in = 0.35;
    } else if (at >= 580) {
        load.memory = 0;
    } else if (at >= 560) {
        load.compute = 0.70 + 0.10 * noise(now, 1);
    } else if (fmod(at, 120) >= 114) {
        load.compute = 0.03 + 0.02 * noise(now, 1);
        load.pcie_out = 0.40;
    } else {
        load.compute = 0.97 + 0.03 * noise(now, 1);
        load.pcie_in = 0.06 + 0.01 * noise(now, 2);
        load.pcie_out = 0.03 + 0.01 * noise(now, 3);
    }
    load.bandwidth = 0.62 * load.compute;
    return load;
}

/* A server: weights in 15 s, then requests that come in waves; the cache grows with them. */
static struct sim_load inference(const struct moment *now)
{
    double at = now->at_s;
    struct sim_load load = {.kind = LOAD_INFERENCE, .intensity = 0.78, .memory = 0.72};
    if (at < 15) {
        load.compute = 0.02 + 0.01 * noise(now, 1);
        load.memory = 0.72 * loading(at / 15);
        load.pcie_in = 0.50;
        return load;
    }
    double slow = sin(2 * PI * (at / 180 + offset(now, 1)));
    double fast = sin(2 * PI * (at / 17 + offset(now, 2)));
    load.compute = clamp(0.48 + 0.30 * slow + 0.08 * fast + 0.07 * noise(now, 1), 0.02, 0.99);
    load.memory += floor((0.09 + 0.09 * slow) * 64) / 64;
    load.bandwidth = clamp(0.85 * load.compute, 0, 1);
    load.pcie_in = 0.02 * load.compute;
    load.pcie_out = 0.03 * load.compute;
    load.decode = 0.05 * load.compute;
    return load;
}

/* Ten seconds of full load in each thirty, memory held throughout. */
static struct sim_load burst(const struct moment *now)
{
    double at = fmod(now->at_s + 30 * offset(now, 1), 30);
    struct sim_load load = {.kind = LOAD_BURST, .intensity = 1.0, .memory = 0.30};
    if (at >= 20) {
        load.compute = 0.99 + 0.01 * noise(now, 1);
        load.bandwidth = 0.45;
        load.memory = 0.55;
        load.pcie_in = 0.20;
    }
    return load;
}

static struct sim_load load_of(enum sim_load_kind kind, const struct moment *now)
{
    static const enum sim_load_kind mix[] = {LOAD_TRAINING, LOAD_INFERENCE, LOAD_BURST, LOAD_IDLE};
    switch (kind) {
    case LOAD_TRAINING: return training(now);
    case LOAD_INFERENCE: return inference(now);
    case LOAD_BURST: return burst(now);
    case LOAD_MIXED: return load_of(mix[now->gpu % TACHO_COUNT(mix)], now);
    case LOAD_IDLE:
    default: return (struct sim_load){.kind = LOAD_IDLE};
    }
}

struct sim_load sim_load_at(const struct sim *sim, uint32_t gpu)
{
    int64_t cycle_ns = 0;
    for (uint32_t i = 0; i < sim->phase_count; i++) {
        cycle_ns += sim->phases[i].length_ns;
    }
    /* A single phase goes on without end: its time does not begin anew. */
    int64_t at_ns = sim->phase_count > 1 ? sim->now_ns % cycle_ns : sim->now_ns;
    uint32_t phase = 0;
    while (phase + 1 < sim->phase_count && at_ns >= sim->phases[phase].length_ns) {
        at_ns -= sim->phases[phase++].length_ns;
    }
    struct moment now = {.seed = sim->seed,
                         .gpu = gpu,
                         .tick = sim->tick,
                         .at_s = (double)at_ns / (double)SIM_NS_PER_S};
    return load_of(sim->phases[phase].kind, &now);
}
