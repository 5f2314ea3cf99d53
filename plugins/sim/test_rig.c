/* SPDX-License-Identifier: MIT */
/* What the unit tests of sim share; see rig.h. */
#include "plugins/sim/test_rig.h"

#include "tests/harness.h"

struct sim_options rig_presets(void)
{
    static const char *const h100[] = {"h100"};
    return (struct sim_options){.gpus = 2,
                                .profile = {.items = h100, .count = 1},
                                .seed = 1,
                                .workload = "mixed",
                                .time_scale = 1.0};
}

void rig_open(struct rig *rig, const struct sim_options *options)
{
    fakehost_init(&rig->host, &tacho_plugin_v1);
    rig->options = *options;
    rig->self = fakehost_open(&rig->host, &rig->options, &rig->err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig->self);
}

void rig_close(struct rig *rig)
{
    fakehost_close(&rig->host, rig->self);
    fakehost_fini(&rig->host);
}

const struct tacho_batch *rig_collect(struct rig *rig)
{
    return fakehost_collect(&rig->host, rig->self, &rig->result, &rig->err);
}

const struct tacho_batch *rig_skip(struct rig *rig, int ticks)
{
    for (int i = 1; i < ticks; i++) {
        batch_unref(rig_collect(rig));
    }
    return rig_collect(rig);
}

double rig_number(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    return fakehost_number(batch, "gpu", gpu, metric);
}
