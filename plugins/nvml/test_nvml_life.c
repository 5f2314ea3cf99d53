/* SPDX-License-Identifier: MIT */
/* nvml over time: drivers that are missing, replaced or released, GPUs that sleep or come back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/nvml/test_rig.h"

/* No library at all: one sentence that says what was tried and what to check. */
static void test_no_driver(void)
{
    struct rig rig;
    rig_open(&rig, "nothing-like-it", "");
    rig.options.library = "";
    const struct tacho_batch *batch = rig_collect(&rig);
    if (rig.result == TACHO_UNSUPPORTED) {
        CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "libnvidia-ml.so.1"));
    } else {
        harness_skip("this machine has the NVIDIA library");
    }
    batch_unref(batch);
    rig.options.library = "/nowhere/libnvidia-ml.so.1";
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "/nowhere/libnvidia-ml.so.1"));
    batch_unref(batch);
    rig_close(&rig);
}

static void expect_init(const char *script, int result, const char *word)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", script);
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, result);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, word));
    batch_unref(batch);
    rig_close(&rig);
}

/* P21: "Unknown Error" is a state of its own, not "no GPU". */
static void test_init_failures(void)
{
    expect_init("init 9\n", TACHO_UNSUPPORTED, "lsmod");
    expect_init("init 18\n", TACHO_RETRY, "different releases");
    expect_init("init 999\n", TACHO_RETRY, "restart the container");
    expect_init("init 4\n", TACHO_RETRY, "/dev/nvidiactl");
    expect_init("gpus 0\n", TACHO_UNSUPPORTED, "knows no GPU");
}

/* P14: after a version mismatch the library is loaded anew, and the same GPUs go on. */
static void test_replaced(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 2\ndriver 550.1\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.driver_version"), "550.1");
    batch_unref(batch);
    rig_script("gpus 2\ngeneration 2\ninit 18\n");
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "code 18"));
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    rig_script("gpus 2\ngeneration 2\ndriver 590.2\n");
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.driver_version"), "590.2");
    batch_unref(batch);
    CU_ASSERT_EQUAL(((struct nvml *)rig.self)->generations, 2);
    rig_close(&rig);
}

/* What an earlier driver knew and the new one does not stays visible. */
static void test_missing_after_replacement(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 3\n");
    batch_unref(rig_collect(&rig));
    rig_script("gpus 2\ngeneration 2\n");
    batch_unref(rig_collect(&rig));
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 3);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 2, "gpu.status"), "failed");
    CU_ASSERT_EQUAL(rig.result, TACHO_PARTIAL);
    batch_unref(batch);
    rig_close(&rig);
}

/* P15: released, no library is loaded and nothing is asked; resumed, all is as before. */
static void test_release(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 2\n");
    batch_unref(rig_collect(&rig));
    CU_ASSERT_STRING_EQUAL(rig_call(&rig, "release"), "{\"released\":true,\"calls_in_driver\":0}");
    CU_ASSERT_PTR_NULL(((struct nvml *)rig.self)->generation);
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_NO_DATA);
    (void)rig_call(&rig, "resume");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
    batch_unref(batch);
    rig_close(&rig);
}

/* A call that hangs keeps the library loaded until it returns, and no third generation begins. */
static void test_release_while_stuck(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 2\n");
    rig.deadline_ns = INT64_C(200000000);
    batch_unref(rig_collect(&rig));
    rig_script("gpus 2\nhang nvmlDeviceGetUtilizationRates 60 1\n");
    batch_unref(rig_collect(&rig));
    CU_ASSERT_STRING_EQUAL(rig_call(&rig, "release"), "{\"released\":false,\"calls_in_driver\":1}");
    (void)rig_call(&rig, "resume");
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.err.text, "still hang"));
    rig_script("gpus 2\n");
    (void)usleep(50000);
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    rig_close(&rig);
}

/* P12: few descriptors are allowed while the library starts, as many as before afterwards. */
static void test_descriptors(void)
{
    struct rlimit before, after;
    struct rig rig;
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    if (before.rlim_max <= 4096) {
        harness_skip("the hard limit of descriptors is low");
        return;
    }
    struct rlimit many = {.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
    (void)setrlimit(RLIMIT_NOFILE, &many);
    rig_open(&rig, "nvidia-ml", "descriptors 4096\n");
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    (void)getrlimit(RLIMIT_NOFILE, &after);
    CU_ASSERT_EQUAL(after.rlim_cur, many.rlim_cur);
    rig_close(&rig);
    (void)setrlimit(RLIMIT_NOFILE, &before);
}

/* P16: a GPU that was lost and answers again goes on, with its counters begun anew. */
static void test_back(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 2\n");
    batch_unref(rig_collect(&rig));
    rig_script("gpus 2\nlose 1\n");
    batch_unref(rig_collect(&rig));
    rig_script("gpus 2\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 1, "gpu.status"), "failed");
    batch_unref(batch);
    (void)sleep(5); /* it is tried again so often */
    batch = rig_collect(&rig);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 1, "gpu.status"), "ok");
    CU_ASSERT_EQUAL(rig_number(batch, 1, "gpu.utilization"), 40);
    batch_unref(batch);
    rig_close(&rig);
}

/* One bad field does not fail a GPU; nothing but unknown errors, three times, does. */
static void test_suspicious(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 2\nreturn nvmlDeviceGetPerformanceState 999 0\n");
    const struct tacho_batch *batch = NULL;
    for (int i = 0; i < 4; i++) {
        batch = rig_collect(&rig);
        CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.status"), "ok");
        CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.pstate"), TACHO_ABSENT_ERROR);
        batch_unref(batch);
    }
    rig_script("gpus 2\nreturn * 999 0\n");
    for (int i = 0; i < 3; i++) {
        batch = rig_collect(&rig);
        CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.status"), i < 2 ? "ok" : "failed");
        CU_ASSERT_STRING_EQUAL(rig_text(batch, 1, "gpu.status"), "ok");
        batch_unref(batch);
    }
    rig_close(&rig);
}

/* Writes a file below root, with the folders that it lies in. */
static void put_file(const char *root, const char *name, const char *text)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

/* P11: a GPU that sleeps is not asked anything. */
static void test_suspended(void)
{
    struct rig rig;
    const char *status = "sys/bus/pci/devices/0000:11:00.0/power/runtime_status";
    const char *root = harness_tmpdir();
    rig_open(&rig, "nvidia-ml", "gpus 2\n");
    rig.options.root = root;
    put_file(root, status, "active\n");
    batch_unref(rig_collect(&rig));
    put_file(root, status, "suspended\n");
    rig_script("gpus 2\nhang * 60 1\n"); /* a call would be seen */
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 1, "gpu.status"), "suspended");
    CU_ASSERT_EQUAL(rig_reason(batch, 1, "gpu.power"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.status"), "ok");
    batch_unref(batch);
    put_file(root, status, "active\n");
    rig_script("gpus 2\n");
    batch = rig_collect(&rig);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 1, "gpu.status"), "ok");
    batch_unref(batch);
    rig_close(&rig);
}

/* GPUs that this user may not open are left out, without complaint. */
static void test_denied_devices(void)
{
    struct rig rig;
    rig_open(&rig, "nvidia-ml", "gpus 3\nreturn nvmlDeviceGetHandleByIndex_v2 4 2\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
    batch_unref(batch);
    rig_close(&rig);
}

const struct test tests[] = {
    {"no_driver", test_no_driver},
    {"init_failures", test_init_failures},
    {"replaced", test_replaced},
    {"missing_after_replacement", test_missing_after_replacement},
    {"release", test_release},
    {"release_while_stuck", test_release_while_stuck},
    {"descriptors", test_descriptors},
    {"back", test_back},
    {"suspicious", test_suspicious},
    {"suspended", test_suspended},
    {"denied_devices", test_denied_devices},
    {NULL, NULL},
};
