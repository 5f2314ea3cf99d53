/* SPDX-License-Identifier: MIT */
/* What the kernel tells of a GPU without waking it. `root` is "" or the folder that sys lies in. */
#ifndef TACHO_PLUGINS_NVML_SYSFS_H
#define TACHO_PLUGINS_NVML_SYSFS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the device at this PCI address sleeps; false when that is not known. */
bool sysfs_suspended(const char *root, const char *pci);

/* The address of the GPU with this number, in the order of the driver, which is that of addresses;
 * false when the kernel does not know just `count` of them. */
bool sysfs_find_gpu(const char *root, uint32_t number, uint32_t count, char *out, uint32_t size);

/* The NUMA node of a PCI device; -1 when there is none. */
int sysfs_numa_node(const char *root, const char *pci);

#endif
