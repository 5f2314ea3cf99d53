/* SPDX-License-Identifier: MIT */
/* Writes what the workers saw into a batch: every GPU that was ever seen, whatever became of it. */
#ifndef TACHO_PLUGINS_NVML_FILL_H
#define TACHO_PLUGINS_NVML_FILL_H

#include "plugins/nvml/generation.h"

/* "ok", "failed", … */
const char *status_name(int status);

/* How the GPUs are. */
struct tally {
    uint32_t total, failed, stuck, suspended;
    uint32_t denied; /* may not be opened: not shown */
    int ending;      /* code that ends the generation, or NV_SUCCESS */
};

void fill_batch(struct nvml *nvml, struct tacho_batch *batch, struct tally *out);

#endif
