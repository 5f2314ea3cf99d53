/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for libnvidia-ml.so.1 in tests: as many GPUs as wanted, with every fault that drivers
 * were seen to have. A text file, named by the environment variable FAKE_NVML and read again when
 * it changes, says what it does; script.c lists the words.
 *
 * Every exported function begins with fake_begin, which finds the GPU, lets pass the time that the
 * call costs, hangs, or fails as the script says, and ends with fake_end.
 */
#ifndef TACHO_PLUGINS_NVML_FAKE_FAKE_H
#define TACHO_PLUGINS_NVML_FAKE_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugins/nvml/nvml_abi.h"

#define FAKE_GPUS 64
#define FAKE_RULES 64
#define FAKE_MIGS 64
#define FAKE_MIG_INDICES 7
#define FAKE_PROCESSES 256
#define FAKE_SAMPLES 1024
#define FAKE_EVENTS 256

/* A model of card: what it has. */
struct fake_profile {
    const char *key, *name;
    uint32_t architecture;
    int64_t memory_mib, reserved_mib;
    int64_t power_limit_mw;
    uint32_t clock_mhz, memory_clock_mhz;
    uint32_t fans, nvlinks;
    bool ecc, mig, gpm, unified, relative_limits;
};

struct fake_gpu {
    const struct fake_profile *profile;
    bool lost;
    int64_t util, mem_util, encoder, decoder, jpeg, ofa;
    int64_t used_mib, total_mib, reserved_mib, temperature, memory_temperature;
    int64_t power_mw, average_mw, energy_mj, pstate, throttle, throttle_ns, clock_mhz;
    int64_t fan, rpm, pcie_generation, pcie_width, pcie_tx, pcie_rx, replays;
    int64_t ecc_corrected, ecc_uncorrected, remapped, remap_pending, retired, recovery;
    int64_t nvlink_kib, mig_mode, activity;
    int64_t uuid; /* number in the UUID; else the index */
};

struct fake_rule {
    char function[64]; /* or "*" */
    int32_t gpu;       /* -1: all */
    int32_t code;      /* returned, or 0 */
    double hang_s;
};

struct fake_mig {
    uint32_t gpu, index, gi, ci, slices;
    int64_t memory_mib, used_mib;
    uint32_t uuid;
};

struct fake_process {
    uint32_t gpu, list; /* 0 compute, 1 graphics, 2 MPS */
    uint32_t pid, gi, ci;
    uint64_t bytes;
    int32_t sm, memory, encoder, decoder; /* -1: no sample */
    uint64_t timestamp_us;
};

struct fake_sample {
    uint32_t gpu, type, value;
    uint64_t timestamp_us;
};

struct fake_event {
    uint32_t gpu, gi, ci;
    uint64_t type, data;
};

struct fake_script {
    uint32_t gpu_count, rule_count, mig_count, process_count, sample_count, event_count;
    uint32_t process_bytes; /* layout of process lists: 16, 24 or 32 */
    double cost_us;
    int32_t generation;
    int64_t descriptors; /* init fails when more are allowed; 0: never */
    char driver[32];
    struct fake_gpu gpus[FAKE_GPUS];
    struct fake_rule rules[FAKE_RULES];
    struct fake_mig migs[FAKE_MIGS];
    struct fake_process processes[FAKE_PROCESSES];
    struct fake_sample samples[FAKE_SAMPLES];
    struct fake_event events[FAKE_EVENTS];
};

struct nv_device_opaque {
    uint32_t magic, gpu;
    int32_t mig; /* index of a MIG device, or -1 */
};

const struct fake_profile *fake_profile_find(const char *key);

/* Reads the file; aborts on a word that it does not know: a test with a typing error tests nothing.
 */
void fake_script_read(const char *path, struct fake_script *out);

/* Where all calls begin: 0 with the script held still, else the code to return. `handle` may be
 * NULL only where `system` is true; a bad one aborts, as the real library would crash. */
int fake_begin(nv_device handle, bool system, const char *function);
int fake_end(int code);

/* Valid between begin and end. */
const struct fake_script *fake_script(void);
const struct fake_gpu *fake_gpu(nv_device handle);
nv_device fake_handle(uint32_t gpu);
nv_device fake_mig_handle(uint32_t gpu, uint32_t index);
const struct fake_mig *fake_mig(nv_device handle); /* NULL: the handle is of a GPU, or too old */

/* The next event that was not told yet, waiting up to so long for one; false when none came. */
bool fake_next_event(uint32_t timeout_ms, struct fake_event *out);

/* Microseconds since the library was loaded, for values that move. */
int64_t fake_elapsed_us(void);

#endif
