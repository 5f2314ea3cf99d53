/* SPDX-License-Identifier: MIT */
/* The cards that can be simulated. Sizes, limits, clocks and what a card does not report are those
 * of the real ones; thermal figures are chosen to give their usual temperatures. */
#include <string.h>

#include "plugins/sim/sim.h"

static const struct sim_profile profiles[] = {
    {.key = "h100",
     .name = "NVIDIA H100 80GB HBM3",
     .vbios = "96.00.A5.00.01",
     .memory_mib = 81559,
     .reserved_mib = 479,
     .idle_watts = 70,
     .limit_watts = 700,
     .ambient_celsius = 33,
     .celsius_per_watt = 0.043,
     .slowdown_celsius = 87,
     .idle_mhz = 345,
     .max_mhz = 1980,
     .idle_memory_mhz = 2619,
     .max_memory_mhz = 2619,
     .idle_pstate = 0,
     .pcie_gen = 5,
     .idle_pcie_gen = 5,
     .has_ecc = true,
     .has_memory_temp = true},
    {.key = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .vbios = "92.00.36.00.02",
     .memory_mib = 81920,
     .reserved_mib = 869,
     .idle_watts = 62,
     .limit_watts = 400,
     .ambient_celsius = 24,
     .celsius_per_watt = 0.095,
     .slowdown_celsius = 89,
     .idle_mhz = 210,
     .max_mhz = 1410,
     .idle_memory_mhz = 1593,
     .max_memory_mhz = 1593,
     .idle_pstate = 0,
     .pcie_gen = 4,
     .idle_pcie_gen = 4,
     .has_ecc = true,
     .has_memory_temp = true},
    {.key = "l40s",
     .name = "NVIDIA L40S",
     .vbios = "95.02.66.00.02",
     .memory_mib = 46068,
     .reserved_mib = 609,
     .idle_watts = 34,
     .limit_watts = 350,
     .ambient_celsius = 27,
     .celsius_per_watt = 0.135,
     .slowdown_celsius = 88,
     .idle_mhz = 210,
     .max_mhz = 2520,
     .idle_memory_mhz = 405,
     .max_memory_mhz = 9001,
     .idle_pstate = 8,
     .pcie_gen = 4,
     .idle_pcie_gen = 4,
     .has_ecc = true},
    {.key = "rtx4090",
     .name = "NVIDIA GeForce RTX 4090",
     .vbios = "95.02.18.80.5F",
     .memory_mib = 24564,
     .reserved_mib = 346,
     .idle_watts = 22,
     .limit_watts = 450,
     .ambient_celsius = 34,
     .celsius_per_watt = 0.078,
     .slowdown_celsius = 90,
     .idle_mhz = 210,
     .max_mhz = 3105,
     .idle_memory_mhz = 405,
     .max_memory_mhz = 10501,
     .idle_pstate = 8,
     .pcie_gen = 4,
     .idle_pcie_gen = 1,
     .has_fan = true},
};

const struct sim_profile *sim_profile_find(const char *key)
{
    for (uint32_t i = 0; i < TACHO_COUNT(profiles); i++) {
        if (strcmp(profiles[i].key, key) == 0) {
            return &profiles[i];
        }
    }
    return NULL;
}

const char *sim_profile_names(void)
{
    return "h100, a100, l40s or rtx4090";
}
