/* SPDX-License-Identifier: MIT */
/*
 * Where values are found: the table of all fields, and its element paths as a tree. Drivers have
 * moved and renamed elements often; a new place is one more alternate here and nothing else.
 */
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

#define REASON(bit_, name_)                                           \
    {                                                                 \
        M_THROTTLE, SCOPE_GPU, SMI_FLAG, bit_,                        \
            "clocks_event_reasons/clocks_event_reason_" name_         \
            "|clocks_throttle_reasons/clocks_throttle_reason_" name_, \
            ""                                                        \
    }
#define SUM(cell_, path_)                       \
    {                                           \
        cell_, SCOPE_GPU, SMI_SUM, 0, path_, "" \
    }
#define ID(cell_, scope_, convert_, xml_, csv_) \
    {                                           \
        cell_, scope_, convert_, 0, xml_, csv_  \
    }

const struct smi_field smi_fields[] = {
#define FIELD(index_, name_, unit_, kind_, flags_, help_, convert_, xml_, csv_) \
    {M_##index_, SCOPE_GPU, SMI_##convert_, 0, xml_, csv_},
#include "plugins/nvidia_smi/fields.def"
#undef FIELD
    REASON(0, "gpu_idle"),
    REASON(1, "applications_clocks_setting"),
    REASON(2, "sw_power_cap"),
    REASON(3, "hw_slowdown"),
    REASON(4, "sync_boost"),
    REASON(5, "sw_thermal_slowdown"),
    REASON(6, "hw_thermal_slowdown"),
    REASON(7, "hw_power_brake_slowdown"),
    REASON(8, "display_clocks_setting"),
    SUM(M_ECC_CORRECTED, "ecc_errors/volatile/sram_correctable"),
    SUM(M_ECC_CORRECTED, "ecc_errors/volatile/dram_correctable"),
    SUM(M_ECC_UNCORRECTED, "ecc_errors/volatile/sram_uncorrectable"),
    SUM(M_ECC_UNCORRECTED, "ecc_errors/volatile/sram_uncorrectable_parity"),
    SUM(M_ECC_UNCORRECTED, "ecc_errors/volatile/sram_uncorrectable_secded"),
    SUM(M_ECC_UNCORRECTED, "ecc_errors/volatile/dram_uncorrectable"),
    SUM(M_ECC_CORRECTED_LIFETIME, "ecc_errors/aggregate/sram_correctable"),
    SUM(M_ECC_CORRECTED_LIFETIME, "ecc_errors/aggregate/dram_correctable"),
    SUM(M_ECC_UNCORRECTED_LIFETIME, "ecc_errors/aggregate/sram_uncorrectable"),
    SUM(M_ECC_UNCORRECTED_LIFETIME, "ecc_errors/aggregate/sram_uncorrectable_parity"),
    SUM(M_ECC_UNCORRECTED_LIFETIME, "ecc_errors/aggregate/sram_uncorrectable_secded"),
    SUM(M_ECC_UNCORRECTED_LIFETIME, "ecc_errors/aggregate/dram_uncorrectable"),
    ID(C_UUID, SCOPE_GPU, SMI_TEXT, "uuid", "uuid|gpu_uuid"),
    ID(C_NAME, SCOPE_GPU, SMI_TEXT, "product_name", "name|gpu_name"),
    ID(C_BUS_ID, SCOPE_GPU, SMI_TEXT, "pci/pci_bus_id", "pci.bus_id|gpu_bus_id"),
    ID(C_INDEX, SCOPE_GPU, SMI_COUNT, "", "index"),
    ID(M_DRIVER, SCOPE_GPU, SMI_TEXT, "", "driver_version|kmd_version"),
    ID(C_INDEX, SCOPE_MIG, SMI_COUNT, "index", ""),
    ID(C_GI, SCOPE_MIG, SMI_COUNT, "gpu_instance_id", ""),
    ID(C_CI, SCOPE_MIG, SMI_COUNT, "compute_instance_id", ""),
    ID(C_UUID, SCOPE_MIG, SMI_TEXT, "uuid", ""),
    ID(M_MEM_TOTAL, SCOPE_MIG, SMI_BYTES, "fb_memory_usage/total", ""),
    ID(M_MEM_USED, SCOPE_MIG, SMI_BYTES, "fb_memory_usage/used", ""),
    ID(M_MEM_FREE, SCOPE_MIG, SMI_BYTES, "fb_memory_usage/free", ""),
    ID(M_MEM_RESERVED, SCOPE_MIG, SMI_BYTES, "fb_memory_usage/reserved", ""),
    ID(PC_PID, SCOPE_PROCESS, SMI_COUNT, "pid", ""),
    ID(PC_TYPE, SCOPE_PROCESS, SMI_TEXT, "type", ""),
    ID(PC_NAME, SCOPE_PROCESS, SMI_TEXT, "process_name", ""),
    ID(PC_MEMORY, SCOPE_PROCESS, SMI_BYTES, "used_memory", ""),
    ID(PC_GI, SCOPE_PROCESS, SMI_COUNT, "gpu_instance_id", ""),
    ID(PC_CI, SCOPE_PROCESS, SMI_COUNT, "compute_instance_id", ""),
    ID(H_DRIVER, SCOPE_HEAD, SMI_TEXT, "driver_version|kmd_version", ""),
    ID(H_CUDA, SCOPE_HEAD, SMI_TEXT, "cuda_version|cuda_umd_version", ""),
    ID(H_ATTACHED, SCOPE_HEAD, SMI_COUNT, "attached_gpus", ""),
};

const uint32_t smi_field_count = TACHO_COUNT(smi_fields);

/* ---- the tree -------------------------------------------------------------------------------- */

static const char *const prefixes[] = {
    [SCOPE_HEAD] = "nvidia_smi_log",
    [SCOPE_GPU] = "nvidia_smi_log/gpu",
    [SCOPE_MIG] = "nvidia_smi_log/gpu/mig_devices/mig_device",
    [SCOPE_PROCESS] = "nvidia_smi_log/gpu/processes/process_info",
};

static uint32_t hash_name(int16_t parent, const char *name, size_t length)
{
    uint32_t hash = 2166136261u ^ (uint32_t)(parent + 1);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    }
    return hash;
}

static int16_t find(const struct smi_tree *tree, int16_t parent, const char *name, size_t length,
                    uint32_t hash)
{
    for (uint32_t at = hash % SMI_SLOT_COUNT; tree->slots[at] >= 0;
         at = (at + 1) % SMI_SLOT_COUNT) {
        const struct smi_node *node = &tree->nodes[tree->slots[at]];
        if (node->hash == hash && node->parent == parent && node->length == length &&
            memcmp(node->name, name, length) == 0) {
            return tree->slots[at];
        }
    }
    return -1;
}

int16_t smi_tree_find(const struct smi_tree *tree, int16_t parent, const char *name)
{
    size_t length = strlen(name);
    return find(tree, parent, name, length, hash_name(parent, name, length));
}

static int16_t add_child(struct smi_tree *tree, int16_t parent, const char *name, size_t length)
{
    uint32_t hash = hash_name(parent, name, length);
    int16_t found = find(tree, parent, name, length, hash);
    if (found >= 0 || tree->node_count == SMI_NODE_LIMIT) {
        return found;
    }
    uint32_t at = hash % SMI_SLOT_COUNT;
    while (tree->slots[at] >= 0) {
        at = (at + 1) % SMI_SLOT_COUNT;
    }
    int16_t node = (int16_t)tree->node_count++;
    tree->nodes[node] = (struct smi_node){
        .name = name, .length = (uint32_t)length, .hash = hash, .parent = parent, .field = -1};
    tree->slots[at] = node;
    return node;
}

/* The node at the end of a path, which is as long as given. */
static int16_t add_path(struct smi_tree *tree, int16_t from, const char *path, size_t length)
{
    const char *end = path + length;
    while (from >= -1 && path < end) {
        size_t step = strcspn(path, "/|");
        from = add_child(tree, from, path, step);
        path += step + 1;
    }
    return from;
}

static void add_field(struct smi_tree *tree, int16_t field)
{
    const char *prefix = prefixes[smi_fields[field].scope];
    int16_t from = add_path(tree, -1, prefix, strlen(prefix));
    uint8_t rank = 0;
    for (const char *path = smi_fields[field].xml; *path; rank++) {
        size_t length = strcspn(path, "|");
        int16_t node = add_path(tree, from, path, length);
        if (node >= 0) {
            tree->nodes[node].field = field;
            tree->nodes[node].rank = rank;
        }
        path += length + (path[length] == '|');
    }
}

void smi_tree_init(struct smi_tree *tree)
{
    memset(tree->slots, 0xff, sizeof tree->slots);
    tree->node_count = 0;
    for (uint32_t scope = SCOPE_GPU; scope <= SCOPE_PROCESS; scope++) {
        int16_t node = add_path(tree, -1, prefixes[scope], strlen(prefixes[scope]));
        tree->nodes[node].begins = (uint8_t)scope;
    }
    for (uint32_t i = 0; i < smi_field_count; i++) {
        add_field(tree, (int16_t)i);
    }
}
