/* SPDX-License-Identifier: MIT */
/* Device memory by the newest call that a library has; for GPUs and MIG devices alike. */
#ifndef TACHO_PLUGINS_NVML_READ_MEMORY_H
#define TACHO_PLUGINS_NVML_READ_MEMORY_H

#include <stdbool.h>

#include "plugins/nvml/nvml_lib.h"

/* Returns the driver's code. Without out_reserved, `used` includes what is reserved. */
int memory_ask(const struct nvml_lib *lib, nv_device handle, struct nv_memory_v2 *out,
               bool *out_reserved);

#endif
