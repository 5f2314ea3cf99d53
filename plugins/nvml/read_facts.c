/* SPDX-License-Identifier: MIT */
/* What a GPU is: asked once in a generation. */
#include <stdio.h>
#include <string.h>

#include "plugins/nvml/device.h"
#include "plugins/nvml/generation.h"
#include "plugins/nvml/sysfs.h"

#define MHZ INT64_C(1000000)

typedef int text_call(nv_device device, char *out, uint32_t size);

static void put_text(struct device *device, struct reading *reading, int32_t metric,
                     text_call *call)
{
    char text[96] = "";
    int code = call ? call(device->identity.handle, text, sizeof text) : NV_FUNCTION_NOT_FOUND;
    device_put_text(device, reading, metric, code, text);
}

static void put_known(struct device *device, struct reading *reading, int32_t metric,
                      const char *text)
{
    device_put_text(device, reading, metric, text[0] ? NV_SUCCESS : NV_NOT_SUPPORTED, text);
}

/* Numbers that the vendor gave to its architectures; newer ones go by their number. */
static void read_architecture(struct device *device, struct reading *reading)
{
    static const char *const names[] = {NULL,     NULL,     "kepler",   "maxwell",
                                        "pascal", "volta",  "turing",   "ampere",
                                        "ada",    "hopper", "blackwell"};
    uint32_t number = 0;
    char text[24];
    int code = NVML_CALL(device->lib, architecture, device->identity.handle, &number);
    if (number < TACHO_COUNT(names) && names[number]) {
        (void)snprintf(text, sizeof text, "%s", names[number]);
    } else if (number == UINT32_MAX) {
        code = code == NV_SUCCESS ? NV_NOT_SUPPORTED : code;
    } else {
        (void)snprintf(text, sizeof text, "architecture %u", number);
    }
    device_put_text(device, reading, M_ARCHITECTURE, code, text);
}

static void read_numa(struct device *device, struct reading *reading)
{
    uint32_t node = UINT32_MAX;
    int code = NVML_CALL(device->lib, numa_node, device->identity.handle, &node);
    int known = sysfs_numa_node(device->generation->root, device->identity.known.pci);
    if (code != NV_SUCCESS && nvml_code_is_lasting(code) && known >= 0) {
        code = NV_SUCCESS;
        node = (uint32_t)known;
    }
    device_put_i64(device, reading, M_NUMA_NODE, code, node);
}

static void read_clock_limits(struct device *device, struct reading *reading)
{
    static const struct {
        uint32_t clock;
        int32_t metric;
    } rows[] = {{NV_CLOCK_GRAPHICS, M_CLOCK_GRAPHICS_MAX},
                {NV_CLOCK_SM, M_CLOCK_SM_MAX},
                {NV_CLOCK_MEMORY, M_CLOCK_MEMORY_MAX},
                {NV_CLOCK_VIDEO, M_CLOCK_VIDEO_MAX}};
    for (size_t i = 0; i < TACHO_COUNT(rows); i++) {
        uint32_t mhz = 0;
        int code = NVML_CALL(device->lib, clock_max, device->identity.handle, rows[i].clock, &mhz);
        device_put_i64(device, reading, rows[i].metric, code, mhz * MHZ);
    }
}

static void read_link_limits(struct device *device, struct reading *reading)
{
    uint32_t value = 0;
    int code = NVML_CALL(device->lib, pcie_generation_max, device->identity.handle, &value);
    device_put_i64(device, reading, M_PCIE_GENERATION_MAX, code, value);
    code = NVML_CALL(device->lib, pcie_width_max, device->identity.handle, &value);
    device_put_i64(device, reading, M_PCIE_WIDTH_MAX, code, value);
}

/* A field asked for by itself; the value as a whole number. */
static int ask_field(struct device *device, uint32_t field, int64_t *out)
{
    struct nv_field_value value = {.field = field, .code = NV_NOT_SUPPORTED};
    int code = NVML_CALL(device->lib, field_values, device->identity.handle, 1, &value);
    *out = value.type == NV_VALUE_UINT  ? value.value.u32
           : value.type == NV_VALUE_INT ? value.value.i32
                                        : value.value.i64;
    return code == NV_SUCCESS ? value.code : code;
}

/* Newer cards tell their limits only as a distance to the limit of the moment, which lies at the
 * temperature plus the margin. */
static int relative_threshold(struct device *device, uint32_t field, int64_t *out)
{
    struct nv_margin margin = {.version = NV_VERSION(struct nv_margin, 1)};
    uint32_t celsius = 0;
    int64_t distance;
    int code = ask_field(device, field, &distance);
    code = code ? code : NVML_CALL(device->lib, margin, device->identity.handle, &margin);
    code = code ? code : NVML_CALL(device->lib, temperature, device->identity.handle, 0, &celsius);
    *out = (int64_t)celsius + margin.celsius - distance;
    return code;
}

static void read_thresholds(struct device *device, struct reading *reading)
{
    static const struct {
        uint32_t threshold, field;
        int32_t metric;
    } rows[] = {
        {NV_THRESHOLD_SLOWDOWN, NV_FIELD_TLIMIT_SLOWDOWN, M_TEMPERATURE_SLOWDOWN},
        {NV_THRESHOLD_SHUTDOWN, NV_FIELD_TLIMIT_SHUTDOWN, M_TEMPERATURE_SHUTDOWN},
        {NV_THRESHOLD_GPU_MAX, NV_FIELD_TLIMIT_GPU_MAX, M_TEMPERATURE_OPERATING_MAX},
        {NV_THRESHOLD_MEMORY_MAX, NV_FIELD_TLIMIT_MEMORY_MAX, M_MEMORY_TEMPERATURE_MAX},
    };
    for (size_t i = 0; i < TACHO_COUNT(rows); i++) {
        uint32_t celsius = 0;
        int64_t value = 0;
        int code =
            NVML_CALL(device->lib, threshold, device->identity.handle, rows[i].threshold, &celsius);
        value = celsius;
        /* The memory's own limit cannot be told from the die's temperature. */
        if (nvml_code_is_lasting(code) && rows[i].metric != M_MEMORY_TEMPERATURE_MAX &&
            relative_threshold(device, rows[i].field, &value) == NV_SUCCESS) {
            code = NV_SUCCESS;
        }
        device_put_i64(device, reading, rows[i].metric, code, value);
    }
}

static void read_power_limits(struct device *device, struct reading *reading)
{
    nv_device handle = device->identity.handle;
    uint32_t low = 0, high = 0, preset = 0;
    int64_t value;
    int code = ask_field(device, NV_FIELD_POWER_LIMIT_DEFAULT, &value);
    if (code != NV_SUCCESS) {
        code = NVML_CALL(device->lib, power_limit_default, handle, &preset);
        value = preset;
    }
    device_put_f64(device, reading, M_POWER_LIMIT_DEFAULT, code, (double)value / 1000);
    int range = NVML_CALL(device->lib, power_limit_range, handle, &low, &high);
    code = ask_field(device, NV_FIELD_POWER_LIMIT_MIN, &value);
    value = code == NV_SUCCESS ? value : low;
    device_put_f64(device, reading, M_POWER_LIMIT_MIN, code ? range : code, (double)value / 1000);
    code = ask_field(device, NV_FIELD_POWER_LIMIT_MAX, &value);
    value = code == NV_SUCCESS ? value : high;
    device_put_f64(device, reading, M_POWER_LIMIT_MAX, code ? range : code, (double)value / 1000);
}

/* That a GPU shares the host's memory is known when it has none of its own to tell and addresses
 * the host's; a lost GPU or one with MIG says the first as well. */
static bool is_unified(struct device *device)
{
    static const char *const names[] = {"GB10", "Orin", "Thor", "Tegra", "Xavier"};
    struct nv_memory_v2 newer = {.version = NV_VERSION(struct nv_memory_v2, 2)};
    struct nv_memory memory = {.total = 0};
    struct nv_addressing mode = {.version = NV_VERSION(struct nv_addressing, 1)};
    nv_device handle = device->identity.handle;
    uint32_t current = 0, pending = 0;
    int code = NVML_CALL(device->lib, memory_v2, handle, &newer);
    if (code != NV_SUCCESS) {
        code = NVML_CALL(device->lib, memory, handle, &memory);
    }
    if (NVML_CALL(device->lib, mig_mode, handle, &current, &pending) == NV_SUCCESS && current) {
        return false;
    }
    if (code != NV_NOT_SUPPORTED && !(code == NV_SUCCESS && newer.total + memory.total == 0)) {
        return false;
    }
    if (NVML_CALL(device->lib, addressing_mode, handle, &mode) == NV_SUCCESS) {
        return mode.mode == NV_ADDRESSING_ATS;
    }
    for (size_t i = 0; i < TACHO_COUNT(names); i++) {
        if (strstr(device->identity.known.name, names[i])) {
            return true;
        }
    }
    return false;
}

void read_facts(struct device *device, struct reading *reading)
{
    const struct generation *generation = device->generation;
    put_text(device, reading, M_SERIAL, device->lib->serial);
    put_text(device, reading, M_VBIOS_VERSION, device->lib->vbios_version);
    read_architecture(device, reading);
    put_known(device, reading, M_DRIVER_VERSION, generation->driver_version);
    put_known(device, reading, M_NVML_VERSION, generation->nvml_version);
    put_known(device, reading, M_CUDA_VERSION, generation->cuda_version);
    read_numa(device, reading);
    read_thresholds(device, reading);
    read_power_limits(device, reading);
    read_clock_limits(device, reading);
    read_link_limits(device, reading);
    device->unified = is_unified(device);
    device_put_text(device, reading, M_MEMORY_UNIFIED, NV_SUCCESS, device->unified ? "yes" : "no");
}
