/* SPDX-License-Identifier: MIT */
/* What the captures say of their first GPUs, read off by hand; for test_nvidia_smi.c alone. */
#ifndef TACHO_NVIDIA_SMI_TEST_EXPECTED_H
#define TACHO_NVIDIA_SMI_TEST_EXPECTED_H

#include <math.h>
#include <stdint.h>

#define MIB 1048576.0

static const struct {
    const char *file;
    uint32_t gpu;
    const char *metric;
    double value; /* NaN: absent */
} expected[] = {
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.power", 142.33},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.power_average", 139.62},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.memory.used", 9184 * MIB},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.temperature", 27},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.pcie.received", 14742333e3},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.throttle_time.power_cap", 0},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.memory.temperature", NAN},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.ecc.corrected", NAN},
    {"nvidia-smi-xml/rtx-3080_595.58_v13.xml", 0, "gpu.remapped_rows.corrected", NAN},
    {"nvidia-smi-xml/a100-sxm4-80gb_535.54_mig4.xml", 0, "gpu.power", 67.03},
    {"nvidia-smi-xml/a100-sxm4-80gb_535.54_mig4.xml", 0, "gpu.utilization", NAN},
    {"nvidia-smi-xml/a100-sxm4-80gb_535.54_mig4.xml", 0, "gpu.memory.temperature", 44},
    {"nvidia-smi-xml/tesla-p100-12gb-x2_375.66_v8.xml", 0, "gpu.ecc.corrected", 0},
    {"nvidia-smi-xml/tesla-p100-12gb-x2_375.66_v8.xml", 0, "gpu.clock.sm", 405e6},
    {"nvidia-smi-xml/rtx-pro-6000-blackwell_580_fragment.xml", 0, "gpu.power", 66.84},
    {"nvidia-smi-xml/rtx-pro-6000-blackwell_580_fragment.xml", 0, "gpu.temperature.slowdown", NAN},
    {"nvidia-smi-xml/rtx-pro-6000-blackwell_580_fragment.xml", 0, "gpu.fan", 40},
    {"nvidia-smi-mock/h100-lost.xml", 2, "gpu.power", NAN},
    {"nvidia-smi-mock/h100-lost.xml", 3, "gpu.temperature", 34},
    {"nvidia-smi-mock/l40s-busy.xml", 0, "gpu.memory.used", 37848 * MIB},
    {"nvidia-smi-mock/l40s-busy.xml", 0, "gpu.temperature", 83},
};

#endif
