/* SPDX-License-Identifier: MIT */
/* Our declarations of NVML against what is known of the real ones: sizes, offsets and version words
 * in the fixtures, and names that the library exports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvml/nvml_lib.h"
#include "tests/harness.h"

static const struct {
    const char *type;
    size_t size;
} size_table[] = {
    {"nvmlPciInfo_t", sizeof(struct nv_pci_info)},
    {"nvmlUtilization_t", sizeof(struct nv_utilization)},
    {"nvmlMemory_t", sizeof(struct nv_memory)},
    {"nvmlMemory_v2_t", sizeof(struct nv_memory_v2)},
    {"nvmlBAR1Memory_t", sizeof(struct nv_bar1)},
    {"nvmlFieldValue_t", sizeof(struct nv_field_value)},
    {"nvmlSample_t", sizeof(struct nv_sample)},
    {"nvmlDeviceAttributes_t", sizeof(struct nv_attributes)},
    {"nvmlGpmSupport_t", sizeof(struct nv_gpm_support)},
    {"nvmlGpmMetric_t", sizeof(struct nv_gpm_metric)},
    {"nvmlEventData_t", sizeof(struct nv_event)},
    {"nvmlProcessInfo_v1_t", sizeof(struct nv_process_v1)},
    {"nvmlProcessInfo_v2_t", sizeof(struct nv_process_v2)},
    {"nvmlProcessInfo_t", sizeof(struct nv_process_v2)},
    {"nvmlProcessUtilizationSample_t", sizeof(struct nv_process_utilization)},
    {"nvmlDevice_t", sizeof(nv_device)},
    {"nvmlGpmSample_t", sizeof(nv_gpm_sample)},
};

#define AT(vendor, member, type, ours)              \
    {                                               \
        vendor, member, offsetof(struct type, ours) \
    }

static const struct {
    const char *type, *member;
    size_t offset;
} offset_table[] = {
    AT("nvmlPciInfo_st", "domain", nv_pci_info, domain),
    AT("nvmlPciInfo_st", "bus", nv_pci_info, bus),
    AT("nvmlPciInfo_st", "device", nv_pci_info, device),
    AT("nvmlPciInfo_st", "busId[32]", nv_pci_info, bus_id),
    AT("nvmlUtilization_st", "memory", nv_utilization, memory),
    AT("nvmlMemory_st", "free", nv_memory, free),
    AT("nvmlMemory_st", "used", nv_memory, used),
    AT("nvmlMemory_v2_st", "total", nv_memory_v2, total),
    AT("nvmlMemory_v2_st", "reserved", nv_memory_v2, reserved),
    AT("nvmlMemory_v2_st", "free", nv_memory_v2, free),
    AT("nvmlMemory_v2_st", "used", nv_memory_v2, used),
    AT("nvmlBAR1Memory_st", "bar1Free", nv_bar1, free),
    AT("nvmlBAR1Memory_st", "bar1Used", nv_bar1, used),
    AT("nvmlFieldValue_st", "scopeId", nv_field_value, scope),
    AT("nvmlFieldValue_st", "timestamp", nv_field_value, timestamp_us),
    AT("nvmlFieldValue_st", "latencyUsec", nv_field_value, latency_us),
    AT("nvmlFieldValue_st", "valueType", nv_field_value, type),
    AT("nvmlFieldValue_st", "nvmlReturn", nv_field_value, code),
    AT("nvmlFieldValue_st", "value", nv_field_value, value),
    AT("nvmlSample_st", "timeStamp", nv_sample, timestamp_us),
    AT("nvmlSample_st", "sampleValue", nv_sample, value),
    AT("nvmlDeviceAttributes_st", "gpuInstanceSliceCount", nv_attributes, gpu_slices),
    AT("nvmlDeviceAttributes_st", "memorySizeMB", nv_attributes, memory_mib),
    AT("nvmlEventData_st", "eventType", nv_event, type),
    AT("nvmlEventData_st", "eventData", nv_event, data),
    AT("nvmlEventData_st", "gpuInstanceId", nv_event, gpu_instance),
    AT("nvmlEventData_st", "computeInstanceId", nv_event, compute_instance),
    AT("nvmlProcessInfo_v2_st", "usedGpuMemory", nv_process_v2, memory),
    AT("nvmlProcessInfo_v2_st", "gpuInstanceId", nv_process_v2, gpu_instance),
    AT("nvmlProcessUtilizationSample_st", "timeStamp", nv_process_utilization, timestamp_us),
    AT("nvmlProcessUtilizationSample_st", "smUtil", nv_process_utilization, sm),
    AT("nvmlProcessUtilizationSample_st", "decUtil", nv_process_utilization, decoder),
};

/* The line of a table whose first columns are these; NULL when there is none. */
static char *find_line(FILE *file, const char *first, const char *second)
{
    static char line[512];
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, second ? "%s\t%s\t" : "%s\t", first, second);
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, wanted, strlen(wanted)) == 0) {
            return line + strlen(wanted);
        }
    }
    return NULL;
}

static FILE *open_fixture(const char *name)
{
    const char *path = harness_fixture(name);
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file) {
        harness_skip("no fixtures of NVML");
    }
    return file;
}

static void check_sizes(const char *name, size_t least)
{
    FILE *file = open_fixture(name);
    size_t found = 0;
    for (size_t i = 0; file && i < TACHO_COUNT(size_table); i++) {
        const char *rest = find_line(file, size_table[i].type, NULL);
        found += rest != NULL;
        CU_ASSERT(!rest || strtoul(rest, NULL, 10) == size_table[i].size);
    }
    if (file) {
        CU_ASSERT(found >= least);
        (void)fclose(file);
    }
}

static void test_sizes(void)
{
    check_sizes("nvml/sizeof-12.4.tsv", 14);
    check_sizes("nvml/sizeof-11.8.tsv", 12);
}

static void test_offsets(void)
{
    static const char *const names[] = {"nvml/layout-12.4.tsv", "nvml/layout-11.8.tsv"};
    for (size_t n = 0; n < TACHO_COUNT(names); n++) {
        FILE *file = open_fixture(names[n]);
        for (size_t i = 0; file && i < TACHO_COUNT(offset_table); i++) {
            const char *rest = find_line(file, offset_table[i].type, offset_table[i].member);
            CU_ASSERT_PTR_NOT_NULL(rest);
            CU_ASSERT(!rest || strtoul(rest, NULL, 10) == offset_table[i].offset);
        }
        if (file) {
            (void)fclose(file);
        }
    }
}

static void test_versions(void)
{
    FILE *file = open_fixture("nvml/structver-12.4.tsv");
    if (file) {
        const char *rest = find_line(file, "nvmlMemory_v2", NULL);
        CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
        CU_ASSERT_EQUAL(strtoul(rest, NULL, 16), NV_VERSION(struct nv_memory_v2, 2));
        (void)fclose(file);
    }
}

/* Names of functions that are newer than the release of the fixture. */
static bool is_newer(const char *name)
{
    static const char *const names[] = {"nvmlDeviceGetTemperatureV", "nvmlDeviceGetFanSpeedRPM",
                                        "nvmlDeviceGetMarginTemperature",
                                        "nvmlDeviceGetAddressingMode"};
    for (size_t i = 0; i < TACHO_COUNT(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* A typing error in a name would only ever show as a metric that is missing. */
static void test_names(void)
{
    static const char *const names[] = {
#define SYMBOL(member, arguments, ...) __VA_ARGS__,
#include "plugins/nvml/symbols.def"
#undef SYMBOL
    };
    FILE *file = open_fixture("nvml/exports-libnvidia-ml-550.163.01.txt");
    for (size_t i = 0; file && i < TACHO_COUNT(names); i++) {
        char line[256];
        bool found = !names[i] || is_newer(names[i]);
        rewind(file);
        while (!found && fgets(line, sizeof line, file)) {
            line[strcspn(line, "\r\n")] = '\0';
            found = strcmp(line, names[i]) == 0;
        }
        CU_ASSERT(found);
        if (!found) {
            (void)printf("    %s is no function of the library\n", names[i]);
        }
    }
    if (file) {
        (void)fclose(file);
    }
}

const struct test tests[] = {
    {"sizes", test_sizes},
    {"offsets", test_offsets},
    {"versions", test_versions},
    {"names", test_names},
    {NULL, NULL},
};
