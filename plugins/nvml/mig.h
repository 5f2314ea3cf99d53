/* SPDX-License-Identifier: MIT */
/* MIG devices of a GPU: which there are, and who they are. They are known by their UUID alone: the
 * numbers of instances are used again at once when the GPU is partitioned anew. */
#ifndef TACHO_PLUGINS_NVML_MIG_H
#define TACHO_PLUGINS_NVML_MIG_H

#include "plugins/nvml/device.h"
#include "plugins/nvml/gpm.h"

#define MIG_LIMIT 16

struct mig {
    char uuid[96], profile[48];
    uint32_t index, gi, ci;
    nv_device handle; /* of this tick */
    int32_t entity;   /* number in the reading of this tick */
    bool seen;        /* in this tick */
    struct gpm gpm;
};

struct mig_list {
    struct mig items[MIG_LIMIT];
    uint32_t count;
};

int mig_init(struct device *device);
void mig_fini(struct device *device);

#endif
