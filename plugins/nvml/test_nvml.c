/* SPDX-License-Identifier: MIT */
/* nvml on a fake library: values, what is missing, and GPUs that fail, hang or sleep. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugins/nvml/test_rig.h"

#define MIB 1048576.0

static void test_basics(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 2\nset 1 util 77\nset 1 power_mw 612345\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.status"), "ok");
    CU_ASSERT_EQUAL(rig_number(batch, 1, "gpu.utilization"), 77);
    CU_ASSERT_DOUBLE_EQUAL(rig_number(batch, 1, "gpu.power"), 612.345, 1e-9);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.memory.total"), 81559 * MIB);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.clock.graphics"), 1.5e9);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.architecture"), "hopper");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 1, "pci_bus_id"), "0000:11:00.0");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 1, "index"), "1");
    batch_unref(batch);
    rig_close(&rig);
}

/* P1: by the newer call, what is reserved is not used; by the older one it is. */
static void test_memory_versions(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "set 0 used_mib 1000\nset 0 reserved_mib 479\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.memory.used"), 1000 * MIB);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.memory.reserved"), 479 * MIB);
    batch_unref(batch);
    rig_close(&rig);
    rig_open(&rig, "nvidia-ml-old", "set 0 used_mib 1000\nset 0 reserved_mib 479\n");
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.memory.used"), 1479 * MIB);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.memory.reserved"), TACHO_ABSENT_UNSUPPORTED);
    batch_unref(batch);
    rig_close(&rig);
}

/* P16: one GPU that is lost hides no other, and stays under its UUID. */
static void test_lost(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 8\n");
    batch_unref(rig_collect(&rig));
    rig_script("gpus 8\nlose 3\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_PARTIAL);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 8);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 3, "gpu.status"), "failed");
    CU_ASSERT_EQUAL(rig_reason(batch, 3, "gpu.utilization"), TACHO_ABSENT_LOST);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 4, "gpu.status"), "ok");
    CU_ASSERT_EQUAL(rig_number(batch, 4, "gpu.utilization"), 40);
    batch_unref(batch);
    rig_close(&rig);
}

/* P13: one GPU that hangs is stuck at once; the others are read; no second call begins. */
static void test_stuck(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 4\n");
    rig.deadline_ns = INT64_C(250000000);
    batch_unref(rig_collect(&rig));
    rig_script("gpus 4\nhang nvmlDeviceGetUtilizationRates 30 2\n");
    for (int i = 0; i < 3; i++) {
        const struct tacho_batch *batch = rig_collect(&rig);
        CU_ASSERT_EQUAL(rig.result, TACHO_PARTIAL);
        CU_ASSERT_STRING_EQUAL(rig_text(batch, 2, "gpu.status"), "stuck");
        CU_ASSERT_EQUAL(rig_reason(batch, 2, "gpu.power"), TACHO_ABSENT_STALE);
        CU_ASSERT_STRING_EQUAL(rig_text(batch, 2, "gpu.serial"), "1650123456789");
        CU_ASSERT_STRING_EQUAL(rig_text(batch, 3, "gpu.status"), "ok");
        CU_ASSERT_EQUAL(rig_number(batch, 3, "gpu.utilization"), 40);
        batch_unref(batch);
    }
    rig_script("gpus 4\n");
    (void)usleep(50000);
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 2, "gpu.status"), "ok");
    batch_unref(batch);
    rig_close(&rig);
}

const struct test tests[] = {
    {"basics", test_basics},
    {"memory_versions", test_memory_versions},
    {"lost", test_lost},
    {"stuck", test_stuck},
    {NULL, NULL},
};
