/* SPDX-License-Identifier: MIT */
/* The fake library: heat, power, clocks, fans, the bus, and fields by number. */
#include "plugins/nvml/fake/api.h"

/* The counter moves with the power that is drawn. */
static int64_t energy_mj(const struct fake_gpu *gpu)
{
    return gpu->energy_mj + gpu->power_mw * fake_elapsed_us() / 1000000;
}

#ifndef FAKE_OLD
API(nvmlDeviceGetTemperatureV, nv_device device, struct nv_temperature *out)
{
    BEGIN(device);
    if (out->version != 0x0100000c) {
        return fake_end(NV_ARGUMENT_VERSION_MISMATCH);
    }
    out->celsius = (int32_t)gpu->temperature;
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetMarginTemperature, nv_device device, struct nv_margin *out)
{
    BEGIN(device);
    if (out->version != 0x01000008) {
        return fake_end(NV_ARGUMENT_VERSION_MISMATCH);
    }
    out->celsius = (int32_t)(87 - gpu->temperature);
    return fake_end(gpu->profile->architecture >= 8 ? NV_SUCCESS : NV_NOT_SUPPORTED);
}

API(nvmlDeviceGetFanSpeed_v2, nv_device device, uint32_t fan, uint32_t *out)
{
    BEGIN(device);
    if (fan >= gpu->profile->fans) {
        return fake_end(gpu->profile->fans ? NV_INVALID_ARGUMENT : NV_NOT_SUPPORTED);
    }
    *out = (uint32_t)(gpu->fan + fan);
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetFanSpeedRPM, nv_device device, struct nv_fan_speed *out)
{
    BEGIN(device);
    if (out->version != 0x0100000c) {
        return fake_end(NV_ARGUMENT_VERSION_MISMATCH);
    }
    out->rpm = (uint32_t)(gpu->rpm + out->fan);
    return fake_end(out->fan < gpu->profile->fans ? NV_SUCCESS : NV_NOT_SUPPORTED);
}

GIVES(nvmlDeviceGetNumFans, uint32_t, true, gpu->profile->fans)
GIVES(nvmlDeviceGetCurrentClocksEventReasons, uint64_t, true, gpu->throttle)
#endif

API(nvmlDeviceGetTemperature, nv_device device, uint32_t sensor, uint32_t *out)
{
    BEGIN(device);
    *out = (uint32_t)gpu->temperature;
    return fake_end(sensor == 0 ? NV_SUCCESS : NV_INVALID_ARGUMENT);
}

API(nvmlDeviceGetTemperatureThreshold, nv_device device, uint32_t threshold, uint32_t *out)
{
    static const uint32_t limits[] = {94, 91, 95, 87};
    BEGIN(device);
    if (threshold >= 4 || gpu->profile->relative_limits) {
        return fake_end(NV_NOT_SUPPORTED);
    }
    *out = limits[threshold];
    return fake_end(NV_SUCCESS);
}

GIVES(nvmlDeviceGetFanSpeed, uint32_t, gpu->profile->fans > 0, gpu->fan)
GIVES(nvmlDeviceGetCurrentClocksThrottleReasons, uint64_t, true, gpu->throttle)
GIVES(nvmlDeviceGetPowerUsage, uint32_t, true, gpu->power_mw)
GIVES(nvmlDeviceGetEnforcedPowerLimit, uint32_t, true, gpu->profile->power_limit_mw)
GIVES(nvmlDeviceGetPowerManagementLimit, uint32_t, true, gpu->profile->power_limit_mw)
GIVES(nvmlDeviceGetPowerManagementDefaultLimit, uint32_t, true, gpu->profile->power_limit_mw)
GIVES(nvmlDeviceGetTotalEnergyConsumption, uint64_t, true, energy_mj(gpu))
GIVES(nvmlDeviceGetCurrPcieLinkGeneration, uint32_t, true, gpu->pcie_generation)
GIVES(nvmlDeviceGetCurrPcieLinkWidth, uint32_t, true, gpu->pcie_width)
GIVES(nvmlDeviceGetMaxPcieLinkGeneration, uint32_t, true, 5)
GIVES(nvmlDeviceGetMaxPcieLinkWidth, uint32_t, true, 16)
GIVES(nvmlDeviceGetPcieReplayCounter, uint32_t, true, gpu->replays)

API(nvmlDeviceGetPowerManagementLimitConstraints, nv_device device, uint32_t *low, uint32_t *high)
{
    BEGIN(device);
    *low = 100000;
    *high = (uint32_t)gpu->profile->power_limit_mw;
    return fake_end(NV_SUCCESS);
}

API(nvmlDeviceGetClockInfo, nv_device device, uint32_t clock, uint32_t *out)
{
    BEGIN(device);
    *out = clock == NV_CLOCK_MEMORY ? gpu->profile->memory_clock_mhz : (uint32_t)gpu->clock_mhz;
    return fake_end(clock < 4 ? NV_SUCCESS : NV_INVALID_ARGUMENT);
}

API(nvmlDeviceGetMaxClockInfo, nv_device device, uint32_t clock, uint32_t *out)
{
    BEGIN(device);
    *out = clock == NV_CLOCK_MEMORY ? gpu->profile->memory_clock_mhz : gpu->profile->clock_mhz;
    return fake_end(clock < 4 ? NV_SUCCESS : NV_INVALID_ARGUMENT);
}

API(nvmlDeviceGetPcieThroughput, nv_device device, uint32_t direction, uint32_t *out)
{
    BEGIN(device);
    *out = direction == NV_PCIE_TX ? 1000 : 2000;
    return fake_end(NV_SUCCESS);
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* The value of a field, by the number that it has in the real library. */
static int field(const struct fake_gpu *gpu, struct nv_field_value *value)
{
    const struct fake_profile *profile = gpu->profile;
    bool newer = profile->architecture >= 7;
    value->type = NV_VALUE_UINT;
    value->value.u64 = 0;
    switch (value->field) {
    case NV_FIELD_POWER_INSTANT:
        value->value.u32 = (uint32_t)gpu->power_mw;
        return value->scope == 0 && newer ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_POWER_AVERAGE:
        value->value.u32 = (uint32_t)gpu->average_mw;
        return value->scope == 0 && newer ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_POWER_LIMIT:
    case NV_FIELD_POWER_LIMIT_REQUESTED:
    case NV_FIELD_POWER_LIMIT_DEFAULT:
    case NV_FIELD_POWER_LIMIT_MAX:
        value->value.u32 = (uint32_t)profile->power_limit_mw;
        return newer ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_POWER_LIMIT_MIN: value->value.u32 = 100000; return NV_SUCCESS;
    case NV_FIELD_MEMORY_TEMP:
        value->value.u32 = (uint32_t)gpu->memory_temperature;
        return profile->ecc ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_THROTTLE_POWER:
    case NV_FIELD_THROTTLE_SYNC_BOOST:
    case NV_FIELD_THROTTLE_SW_THERMAL:
    case NV_FIELD_THROTTLE_HW_THERMAL:
    case NV_FIELD_THROTTLE_POWER_BRAKE:
        value->type = NV_VALUE_ULONGLONG;
        value->value.u64 = (uint64_t)gpu->throttle_ns;
        return NV_SUCCESS;
    case NV_FIELD_PCIE_TX_BYTES: value->value.u32 = (uint32_t)gpu->pcie_tx; return NV_SUCCESS;
    case NV_FIELD_PCIE_RX_BYTES: value->value.u32 = (uint32_t)gpu->pcie_rx; return NV_SUCCESS;
    case NV_FIELD_PCIE_REPLAY: value->value.u32 = (uint32_t)gpu->replays; return NV_SUCCESS;
    case NV_FIELD_PCIE_REPLAY_ROLLOVER:
    case NV_FIELD_PCIE_CORRECTABLE:
    case NV_FIELD_PCIE_NONFATAL:
    case NV_FIELD_PCIE_FATAL: return NV_SUCCESS;
    case NV_FIELD_RETIRED_SBE:
    case NV_FIELD_RETIRED_DBE: value->value.u32 = (uint32_t)gpu->retired; /* fall through */
    case NV_FIELD_RETIRED_PENDING: return newer ? NV_NOT_SUPPORTED : NV_SUCCESS;
    case NV_FIELD_RECOVERY_ACTION: value->value.u32 = (uint32_t)gpu->recovery; return NV_SUCCESS;
    case NV_FIELD_TLIMIT_SHUTDOWN:
    case NV_FIELD_TLIMIT_SLOWDOWN:
    case NV_FIELD_TLIMIT_GPU_MAX:
        value->type = NV_VALUE_INT;
        value->value.i32 = value->field == NV_FIELD_TLIMIT_SHUTDOWN   ? -7
                           : value->field == NV_FIELD_TLIMIT_SLOWDOWN ? -2
                                                                      : 0;
        return profile->relative_limits ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_NVLINK_DATA_TX:
    case NV_FIELD_NVLINK_DATA_RX:
        value->type = NV_VALUE_ULONGLONG;
        value->value.u64 = (uint64_t)gpu->nvlink_kib + value->scope;
        return value->scope < profile->nvlinks && !gpu->mig_mode ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_NVLINK_STATE:
        value->value.u32 = 1;
        return value->scope < profile->nvlinks ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_NVLINK_SPEED:
        value->value.u32 = 26562;
        return value->scope < profile->nvlinks ? NV_SUCCESS : NV_NOT_SUPPORTED;
    case NV_FIELD_NVLINK_CRC:
    case NV_FIELD_NVLINK_REPLAY:
    case NV_FIELD_NVLINK_RECOVERY:
        return value->scope < profile->nvlinks ? NV_SUCCESS : NV_NOT_SUPPORTED;
    default: return NV_NOT_SUPPORTED;
    }
}

API(nvmlDeviceGetFieldValues, nv_device device, int32_t count, struct nv_field_value *values)
{
    BEGIN(device);
    for (int32_t i = 0; i < count; i++) {
        values[i].code = field(gpu, &values[i]);
    }
    return fake_end(NV_SUCCESS);
}
