/* SPDX-License-Identifier: MIT */
/* The PCIe link and the counters of memory errors. Byte and error counters of PCIe come by fields.
 */
#include "plugins/nvml/device.h"
#include "plugins/nvml/generation.h"

#define KB INT64_C(1000)

static void read_ecc(struct device *device, struct reading *reading)
{
    static const struct {
        uint32_t type, counter;
        int32_t metric;
    } rows[] = {{NV_ECC_CORRECTED, NV_ECC_VOLATILE, M_ECC_CORRECTED},
                {NV_ECC_UNCORRECTED, NV_ECC_VOLATILE, M_ECC_UNCORRECTED},
                {NV_ECC_CORRECTED, NV_ECC_AGGREGATE, M_ECC_CORRECTED_LIFETIME},
                {NV_ECC_UNCORRECTED, NV_ECC_AGGREGATE, M_ECC_UNCORRECTED_LIFETIME}};
    for (size_t i = 0; i < TACHO_COUNT(rows); i++) {
        uint64_t count = 0;
        if (device_wants(device, reading, rows[i].metric)) {
            int code = NVML_CALL(device->lib, ecc_errors, device->identity.handle, rows[i].type,
                                 rows[i].counter, &count);
            device_put_i64(device, reading, rows[i].metric, code, (int64_t)count);
        }
    }
}

static void read_rows(struct device *device, struct reading *reading)
{
    uint32_t corrected = 0, uncorrected = 0, pending = 0, failure = 0;
    if (!device_wants(device, reading, M_REMAPPED_CORRECTED)) {
        (void)device_wants(device, reading, M_REMAPPED_UNCORRECTED);
        (void)device_wants(device, reading, M_REMAPPED_PENDING);
        (void)device_wants(device, reading, M_REMAPPED_FAILURE);
        return;
    }
    int code = NVML_CALL(device->lib, remapped_rows, device->identity.handle, &corrected,
                         &uncorrected, &pending, &failure);
    device_put_i64(device, reading, M_REMAPPED_CORRECTED, code, corrected);
    device_put_i64(device, reading, M_REMAPPED_UNCORRECTED, code, uncorrected);
    device_put_text(device, reading, M_REMAPPED_PENDING, code, pending ? "yes" : "no");
    device_put_text(device, reading, M_REMAPPED_FAILURE, code, failure ? "yes" : "no");
}

/* Each direction blocks for 20 ms, so only on request. */
static void read_throughput(struct device *device, struct reading *reading)
{
    uint32_t kilobytes = 0;
    if (device_wants(device, reading, M_PCIE_SENT)) {
        int code = NVML_CALL(device->lib, pcie_throughput, device->identity.handle, NV_PCIE_TX,
                             &kilobytes);
        device_put_i64(device, reading, M_PCIE_SENT, code, kilobytes * KB);
    }
    if (device_wants(device, reading, M_PCIE_RECEIVED)) {
        int code = NVML_CALL(device->lib, pcie_throughput, device->identity.handle, NV_PCIE_RX,
                             &kilobytes);
        device_put_i64(device, reading, M_PCIE_RECEIVED, code, kilobytes * KB);
    }
}

void read_bus(struct device *device, struct reading *reading)
{
    device_read_u32(device, reading, M_PCIE_GENERATION, device->lib->pcie_generation, 1);
    device_read_u32(device, reading, M_PCIE_WIDTH, device->lib->pcie_width, 1);
    if (device->generation->pcie_throughput) {
        read_throughput(device, reading);
    }
    read_ecc(device, reading);
    read_rows(device, reading);
}
