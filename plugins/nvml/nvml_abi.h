/* SPDX-License-Identifier: MIT */
/*
 * The binary interface of libnvidia-ml as far as this plugin uses it: codes, constants and structs,
 * in declarations of our own. Nothing of the vendor's is needed to build; test_nvml_abi.c holds
 * sizes and offsets against what is known of the real library.
 *
 * Structs that carry a version want NV_VERSION(struct, n), except those of GPM, which want 1.
 */
#ifndef TACHO_PLUGINS_NVML_NVML_ABI_H
#define TACHO_PLUGINS_NVML_NVML_ABI_H

#include <stdint.h>

#define NV_VERSION(type, number) ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)
#define NV_GPM_VERSION 1

/* What a call returns. */
enum nv_code {
    NV_SUCCESS = 0,
    NV_UNINITIALIZED = 1,
    NV_INVALID_ARGUMENT = 2,
    NV_NOT_SUPPORTED = 3,
    NV_NO_PERMISSION = 4,
    NV_NOT_FOUND = 6,
    NV_INSUFFICIENT_SIZE = 7,
    NV_DRIVER_NOT_LOADED = 9,
    NV_TIMEOUT = 10,
    NV_IRQ_ISSUE = 11,
    NV_LIBRARY_NOT_FOUND = 12,
    NV_FUNCTION_NOT_FOUND = 13,
    NV_CORRUPTED_INFOROM = 14,
    NV_GPU_IS_LOST = 15,
    NV_RESET_REQUIRED = 16,
    NV_OPERATING_SYSTEM = 17,
    NV_LIB_RM_VERSION_MISMATCH = 18,
    NV_MEMORY = 20,
    NV_NO_DATA = 21,
    NV_INSUFFICIENT_RESOURCES = 23,
    NV_ARGUMENT_VERSION_MISMATCH = 25,
    NV_DEPRECATED = 26,
    NV_GPU_NOT_FOUND = 28,
    NV_UNKNOWN = 999,
};

/* Fields of nvmlDeviceGetFieldValues. */
enum nv_field {
    NV_FIELD_RETIRED_SBE = 29,
    NV_FIELD_RETIRED_DBE = 30,
    NV_FIELD_RETIRED_PENDING = 31,
    NV_FIELD_THROTTLE_POWER = 74,      /* ns */
    NV_FIELD_THROTTLE_SYNC_BOOST = 76, /* ns */
    NV_FIELD_MEMORY_TEMP = 82,
    NV_FIELD_ENERGY = 83, /* mJ */
    NV_FIELD_PCIE_REPLAY = 94,
    NV_FIELD_PCIE_REPLAY_ROLLOVER = 95,
    NV_FIELD_NVLINK_DATA_TX = 138, /* KiB; scope: the link */
    NV_FIELD_NVLINK_DATA_RX = 139,
    NV_FIELD_NVLINK_REPLAY = 161,
    NV_FIELD_NVLINK_RECOVERY = 162,
    NV_FIELD_NVLINK_CRC = 163,
    NV_FIELD_NVLINK_SPEED = 164, /* MB/s */
    NV_FIELD_NVLINK_STATE = 165,
    NV_FIELD_PCIE_CORRECTABLE = 173,
    NV_FIELD_PCIE_NONFATAL = 179,
    NV_FIELD_PCIE_FATAL = 180,
    NV_FIELD_POWER_AVERAGE = 185, /* mW; scope 0: GPU, 1: module */
    NV_FIELD_POWER_INSTANT = 186,
    NV_FIELD_POWER_LIMIT_MIN = 187,
    NV_FIELD_POWER_LIMIT_MAX = 188,
    NV_FIELD_POWER_LIMIT_DEFAULT = 189,
    NV_FIELD_POWER_LIMIT = 190,
    NV_FIELD_POWER_LIMIT_REQUESTED = 192,
    NV_FIELD_TLIMIT_SHUTDOWN = 193, /* relative to the limit, may be negative */
    NV_FIELD_TLIMIT_SLOWDOWN = 194,
    NV_FIELD_TLIMIT_MEMORY_MAX = 195,
    NV_FIELD_TLIMIT_GPU_MAX = 196,
    NV_FIELD_PCIE_TX_BYTES = 197, /* may wrap */
    NV_FIELD_PCIE_RX_BYTES = 198,
    NV_FIELD_NVLINK5_TX_BYTES = 202, /* scope: the link */
    NV_FIELD_NVLINK5_RX_BYTES = 204,
    NV_FIELD_RECOVERY_ACTION = 230,
    NV_FIELD_THROTTLE_SW_THERMAL = 269, /* ns */
    NV_FIELD_THROTTLE_HW_THERMAL = 270,
    NV_FIELD_THROTTLE_POWER_BRAKE = 271,
};

enum nv_value_type {
    NV_VALUE_DOUBLE = 0,
    NV_VALUE_UINT = 1,
    NV_VALUE_ULONG = 2,
    NV_VALUE_ULONGLONG = 3,
    NV_VALUE_LONGLONG = 4,
    NV_VALUE_INT = 5,
    NV_VALUE_USHORT = 6,
};

enum nv_clock { NV_CLOCK_GRAPHICS = 0, NV_CLOCK_SM = 1, NV_CLOCK_MEMORY = 2, NV_CLOCK_VIDEO = 3 };

enum nv_threshold {
    NV_THRESHOLD_SHUTDOWN = 0,
    NV_THRESHOLD_SLOWDOWN = 1,
    NV_THRESHOLD_MEMORY_MAX = 2,
    NV_THRESHOLD_GPU_MAX = 3,
};

enum nv_sampling {
    NV_SAMPLES_POWER = 0, /* mW */
    NV_SAMPLES_GPU = 1,
    NV_SAMPLES_MEMORY = 2,
};

enum nv_gpm {
    NV_GPM_GRAPHICS = 1,
    NV_GPM_SM = 2,
    NV_GPM_OCCUPANCY = 3,
    NV_GPM_INTEGER = 4,
    NV_GPM_TENSOR = 5,
    NV_GPM_DRAM = 10,
    NV_GPM_FP64 = 11,
    NV_GPM_FP32 = 12,
    NV_GPM_FP16 = 13,
    NV_GPM_PCIE_TX = 20, /* MiB/s */
    NV_GPM_PCIE_RX = 21,
};

#define NV_ECC_CORRECTED 0
#define NV_ECC_UNCORRECTED 1
#define NV_ECC_VOLATILE 0
#define NV_ECC_AGGREGATE 1
#define NV_PCIE_TX 0
#define NV_PCIE_RX 1
#define NV_PSTATE_UNKNOWN 32
#define NV_NVLINK_LIMIT 36
#define NV_P2P_CAPS 5
#define NV_ADDRESSING_ATS 2
#define NV_NO_INSTANCE 0xFFFFFFFFu  /* gpu_instance and compute_instance without MIG */
#define NV_NOT_AVAILABLE UINT64_MAX /* memory of a process that the driver does not tell */
#define NV_GPM_METRIC_LIMIT 333     /* of the newest header; older libraries have fewer */
#define NV_EVENT_XID 0x8u           /* of nvmlDeviceRegisterEvents */
#define NV_EVENT_MIG_CHANGE 0x100u

struct nv_device_opaque;
typedef struct nv_device_opaque *nv_device;
struct nv_sample_opaque;
typedef struct nv_sample_opaque *nv_gpm_sample;
struct nv_event_set_opaque;
typedef struct nv_event_set_opaque *nv_event_set;

/* Older forms of the call fill the numbers alike and leave bus_id alone. */
struct nv_pci_info {
    char bus_id_legacy[16];
    uint32_t domain, bus, device;
    uint32_t pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct nv_utilization {
    uint32_t gpu, memory;
};

/* used includes what is reserved. */
struct nv_memory {
    uint64_t total, free, used;
};

struct nv_memory_v2 {
    uint32_t version;
    uint64_t total, reserved, free, used;
};

struct nv_bar1 {
    uint64_t total, free, used;
};

union nv_value {
    double f64;
    int32_t i32;
    uint32_t u32;
    uint64_t u64;
    int64_t i64;
    uint16_t u16;
};

struct nv_field_value {
    uint32_t field, scope;
    int64_t timestamp_us, latency_us;
    int32_t type, code;
    union nv_value value;
};

struct nv_sample {
    uint64_t timestamp_us;
    union nv_value value;
};

struct nv_temperature {
    uint32_t version, sensor;
    int32_t celsius;
};

struct nv_margin {
    uint32_t version;
    int32_t celsius;
};

struct nv_fan_speed {
    uint32_t version, fan, rpm;
};

struct nv_addressing {
    uint32_t version, mode;
};

struct nv_attributes {
    uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, ofas;
    uint32_t gpu_slices, compute_slices;
    uint64_t memory_mib;
};

struct nv_gpm_support {
    uint32_t version, supported;
};

struct nv_gpm_metric {
    uint32_t metric;
    int32_t code;
    double value;
    struct {
        char *short_name, *long_name, *unit;
    } info;
};

struct nv_gpm_metrics {
    uint32_t version, count;
    nv_gpm_sample from, to;
    struct nv_gpm_metric metrics[NV_GPM_METRIC_LIMIT];
};

struct nv_event {
    nv_device device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
};

/* Three layouts of one list: which one a library writes depends on the function and the release. */
struct nv_process_v1 {
    uint32_t pid;
    uint64_t memory;
};

struct nv_process_v2 {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance, compute_instance;
};

struct nv_process_protected {
    uint32_t pid;
    uint64_t memory;
    uint32_t gpu_instance, compute_instance;
    uint64_t protected_memory;
};

struct nv_process_utilization {
    uint32_t pid;
    uint64_t timestamp_us;
    uint32_t sm, memory, encoder, decoder;
};

_Static_assert(sizeof(struct nv_pci_info) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct nv_memory_v2) == 40, "nvmlMemory_v2_t");
_Static_assert(NV_VERSION(struct nv_memory_v2, 2) == 0x02000028, "nvmlMemory_v2");
_Static_assert(NV_VERSION(struct nv_temperature, 1) == 0x0100000c, "nvmlTemperature_v1");
_Static_assert(NV_VERSION(struct nv_margin, 1) == 0x01000008, "nvmlMarginTemperature_v1");
_Static_assert(NV_VERSION(struct nv_fan_speed, 1) == 0x0100000c, "nvmlFanSpeedInfo_v1");
_Static_assert(NV_VERSION(struct nv_addressing, 1) == 0x01000008, "nvmlDeviceAddressingMode_v1");
_Static_assert(sizeof(struct nv_field_value) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(struct nv_sample) == 16, "nvmlSample_t");
_Static_assert(sizeof(struct nv_attributes) == 40, "nvmlDeviceAttributes_t");
_Static_assert(sizeof(struct nv_gpm_metric) == 40, "nvmlGpmMetric_t");
_Static_assert(sizeof(struct nv_event) == 32, "nvmlEventData_t");
_Static_assert(sizeof(struct nv_process_v1) == 16, "nvmlProcessInfo_v1_t");
_Static_assert(sizeof(struct nv_process_v2) == 24, "nvmlProcessInfo_v2_t");
_Static_assert(sizeof(struct nv_process_protected) == 32, "the layout of drivers 535.43 to 535.86");
_Static_assert(sizeof(struct nv_process_utilization) == 32, "nvmlProcessUtilizationSample_t");

#endif
