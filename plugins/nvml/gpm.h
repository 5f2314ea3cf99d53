/* SPDX-License-Identifier: MIT */
/* Activity of a GPU or a GPU instance by hardware counters (GPM): the difference of two samples. */
#ifndef TACHO_PLUGINS_NVML_GPM_H
#define TACHO_PLUGINS_NVML_GPM_H

#include "plugins/nvml/device.h"

/* What is counted: the whole GPU, or one instance of it. Zeroed to begin with. */
struct gpm {
    nv_gpm_sample samples[2];
    uint32_t newest; /* which of the two */
    bool begun;
    int64_t at_ns;
};

void gpm_fini(struct gpm *gpm, const struct nvml_lib *lib);

/* Puts down the activity since the last call. `instance` is NV_NO_INSTANCE for the whole GPU. */
void gpm_read(struct device *device, struct reading *reading, struct gpm *gpm, uint32_t instance);

#endif
