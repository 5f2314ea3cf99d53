/* SPDX-License-Identifier: MIT */
/* What the unit tests of sim share: an instance in a host of its own. */
#ifndef TACHO_PLUGINS_SIM_TEST_RIG_H
#define TACHO_PLUGINS_SIM_TEST_RIG_H

#include "plugins/sim/sim.h"
#include "tests/fakehost.h"

/* A list of texts as an option holds it. */
#define LIST(...)                                                  \
    {                                                              \
        .items = (const char *const[]){__VA_ARGS__},               \
        .count = TACHO_COUNT(((const char *const[]){__VA_ARGS__})) \
    }

struct rig {
    struct fakehost host;
    struct sim_options options;
    void *self;
    struct tacho_err err;
    int result;
};

/* As the option table's presets make it. */
struct sim_options rig_presets(void);

/* Fails the test when the instance does not open. */
void rig_open(struct rig *rig, const struct sim_options *options);
void rig_close(struct rig *rig);

/* The batch of the next tick, to be unreferenced. */
const struct tacho_batch *rig_collect(struct rig *rig);

/* The batch of the nth next tick; those before it are thrown away. */
const struct tacho_batch *rig_skip(struct rig *rig, int ticks);

/* A value of a GPU as a number. */
double rig_number(const struct tacho_batch *batch, uint32_t gpu, const char *metric);

#endif
