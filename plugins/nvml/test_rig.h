/* SPDX-License-Identifier: MIT */
/* What the unit tests of nvml share: an instance in a host of its own, on a fake library. */
#ifndef TACHO_PLUGINS_NVML_TEST_RIG_H
#define TACHO_PLUGINS_NVML_TEST_RIG_H

#include "plugins/nvml/nvml.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct rig {
    struct fakehost host;
    struct options options;
    char library[512];
    void *self;
    struct tacho_err err;
    int result;
    int64_t deadline_ns; /* of a tick: 1 s unless a test sets it */
};

/* Opens an instance on the fake library "nvidia-ml", "nvidia-ml-old" or "nvidia-ml-535", driven by
 * this script. */
void rig_open(struct rig *rig, const char *library, const char *script);
void rig_close(struct rig *rig);

/* Another script from now on; returns when the library has surely seen it. */
void rig_script(const char *script);

/* The batch of the next tick, to be unreferenced. */
const struct tacho_batch *rig_collect(struct rig *rig);

/* A value of the nth GPU: as a number (NaN when absent), as a text (NULL), why it is absent (0). */
double rig_number(const struct tacho_batch *batch, uint32_t gpu, const char *metric);
const char *rig_text(const struct tacho_batch *batch, uint32_t gpu, const char *metric);
int rig_reason(const struct tacho_batch *batch, uint32_t gpu, const char *metric);

/* What a command answers; kept until the next one. */
const char *rig_call(struct rig *rig, const char *command);

#endif
