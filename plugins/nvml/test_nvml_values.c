/* SPDX-License-Identifier: MIT */
/* Values of nvml: units, fallbacks, sentinels, summaries, MIG, activity, links and peers. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugins/nvml/test_rig.h"

#define MIB 1048576.0

static const struct tacho_batch *open_and_collect(struct rig *rig, const char *library,
                                                  const char *script)
{
    rig_open(rig, library, script);
    return rig_collect(rig);
}

static void done(struct rig *rig, const struct tacho_batch *batch)
{
    batch_unref(batch);
    rig_close(rig);
}

/* A library from before many functions: the older ones serve, the rest is unsupported, not zero. */
static void test_old_library(void)
{
    struct rig rig;
    const struct tacho_batch *batch = open_and_collect(
        &rig, "nvidia-ml-old", "profile rtx4090\nset 0 temperature 61\nset 0 throttle 4\n");
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.temperature"), 61);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.temperature.margin"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.jpeg_utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.activity.sm"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.fan"), 30);
    const struct tacho_value *throttle = fakehost_find(batch, "gpu", 0, "gpu.throttle");
    CU_ASSERT_PTR_NOT_NULL_FATAL(throttle);
    CU_ASSERT_EQUAL(throttle->as.flags, 4);
    done(&rig, batch);
}

/* Functions that are there but refuse are not asked again. */
static void test_unsupported_is_remembered(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "drop nvmlDeviceGetUtilizationRates\n");
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.memory_utilization"), TACHO_ABSENT_UNSUPPORTED);
    batch_unref(batch);
    rig_script("hang nvmlDeviceGetUtilizationRates 60\n"); /* another call would be seen */
    batch = rig_collect(&rig);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.status"), "ok");
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.utilization"), TACHO_ABSENT_UNSUPPORTED);
    done(&rig, batch);
}

static void test_denied(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "return nvmlDeviceGetTotalEccErrors 4\n");
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.ecc.corrected"), TACHO_ABSENT_DENIED);
    done(&rig, batch);
}

/* P9: instant and average power each under its name; an old card has the one call for both. */
static void test_power(void)
{
    struct rig rig;
    const struct tacho_batch *batch = open_and_collect(
        &rig, "nvidia-ml",
        "gpus 2\nprofile v100 1\nset * power_mw 300500\nset * average_mw 199000\n");
    CU_ASSERT_DOUBLE_EQUAL(rig_number(batch, 0, "gpu.power"), 300.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(rig_number(batch, 0, "gpu.power_average"), 199, 1e-9);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.power_limit"), 700);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.power_limit_min"), 100);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.module_power"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_DOUBLE_EQUAL(rig_number(batch, 1, "gpu.power"), 300.5, 1e-9);
    CU_ASSERT_EQUAL(rig_reason(batch, 1, "gpu.power_average"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(rig_number(batch, 1, "gpu.power_limit_default"), 300);
    batch_unref(batch);
    batch = rig_collect(&rig);
    CU_ASSERT_DOUBLE_EQUAL(rig_number(batch, 1, "gpu.power"), 300.5, 1e-9);
    done(&rig, batch);
}

/* The counter of energy against power over time. */
static void test_energy(void)
{
    struct rig rig;
    const struct tacho_batch *first =
        open_and_collect(&rig, "nvidia-ml", "set 0 power_mw 400000\n");
    (void)usleep(500000);
    const struct tacho_batch *second = rig_collect(&rig);
    struct tacho_batch_info from, to;
    batch_info(first, &from);
    batch_info(second, &to);
    double joules = rig_number(second, 0, "gpu.energy") - rig_number(first, 0, "gpu.energy");
    double seconds = (double)(to.mono_ns - from.mono_ns) / 1e9;
    CU_ASSERT_DOUBLE_EQUAL(joules / (400 * seconds), 1, 0.1);
    batch_unref(first);
    done(&rig, second);
}

/* P19: nanoseconds, and more of them than 32 bits hold. */
static void test_units(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "set 0 throttle_ns 4251825415123\nset 0 pstate 32\n");
    CU_ASSERT_DOUBLE_EQUAL(rig_number(batch, 0, "gpu.throttle_time.power_cap"), 4251.825415123,
                           1e-6);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.pstate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(fakehost_number(batch, "nvlink", 3, "nvlink.sent_bytes"), 3 * 1024);
    CU_ASSERT_EQUAL(fakehost_number(batch, "nvlink", 3, "nvlink.speed"), 26562e6);
    done(&rig, batch);
}

/* A counter of 32 bits that begins again at zero goes on. */
static void test_wrapping(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "set 0 pcie_tx 4294967000\n");
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.pcie.sent_bytes"), 4294967000.0);
    batch_unref(batch);
    rig_script("set 0 pcie_tx 704\n");
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.pcie.sent_bytes"), 4294968000.0);
    done(&rig, batch);
}

/* Limits of newer cards are told as a distance; ours are temperatures. */
static void test_relative_limits(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "profile l40s\nset 0 temperature 50\n");
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.temperature.margin"), 37);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.temperature.shutdown"), 94);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.temperature.slowdown"), 89);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.temperature.operating_max"), 87);
    done(&rig, batch);
}

/* P18: a GPU that shares the host's memory has none of its own, which is not zero; and a MIG parent
 * that does not tell its memory is no such GPU. */
static void test_unified(void)
{
    struct rig rig;
    const struct tacho_batch *batch = open_and_collect(
        &rig, "nvidia-ml",
        "gpus 2\nprofile gb10 0\nset 1 mig_mode 1\nreturn nvmlDeviceGetMemoryInfo_v2 3 1\n"
        "return nvmlDeviceGetMemoryInfo 3 1\n");
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.memory.unified"), "yes");
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.memory.total"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 1, "gpu.memory.unified"), "no");
    CU_ASSERT_EQUAL(rig_reason(batch, 1, "gpu.memory.total"), TACHO_ABSENT_UNSUPPORTED);
    done(&rig, batch);
}

static void test_fans(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "profile rtx4090\nset 0 fan 44\nset 0 rpm 1500\n");
    CU_ASSERT_EQUAL(fakehost_count(batch, "fan"), 2);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.fan"), 44);
    CU_ASSERT_EQUAL(fakehost_number(batch, "fan", 1, "gpu.fan"), 45);
    CU_ASSERT_EQUAL(fakehost_number(batch, "fan", 1, "gpu.fan_speed"), 1501);
    done(&rig, batch);
}

/* Samples between two ticks: a short peak shows, none counts twice, none from before. */
static void test_samples(void)
{
    struct rig rig;
    static char script[8192];
    size_t used = 0;
    rig_open(&rig, "nvidia-ml", "sample 0 power 1000000 900000\n");
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.power_sampled"), TACHO_ABSENT_NOT_YET);
    batch_unref(batch);
    used += (size_t)snprintf(script, sizeof script, "sample 0 power 1000000 900000\n");
    for (int i = 1; i <= 50; i++) {
        used += (size_t)snprintf(script + used, sizeof script - used, "sample 0 power %d %d\n",
                                 1000000 + i * 20000, i >= 20 && i < 27 ? 650000 : 100000);
    }
    rig_script(script);
    batch = rig_collect(&rig);
    const struct tacho_value *value = fakehost_find(batch, "gpu", 0, "gpu.power_sampled");
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    CU_ASSERT_EQUAL_FATAL(value->type, TACHO_VALUE_SUMMARY);
    CU_ASSERT_EQUAL(value->as.summary->count, 50);
    CU_ASSERT_EQUAL(value->as.summary->max, 650);
    CU_ASSERT_EQUAL(value->as.summary->min, 100);
    CU_ASSERT_EQUAL(value->as.summary->p50, 100);
    CU_ASSERT_DOUBLE_EQUAL(value->as.summary->mean, (7 * 650 + 43 * 100) / 50.0, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(value->as.summary->integral, (7 * 650 + 43 * 100) * 0.02, 1e-9);
    batch_unref(batch);
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.power_sampled"), TACHO_ABSENT_NOT_YET);
    done(&rig, batch);
}

/* P2: GPM has version words of its own, and wants 100 ms between samples. */
static void test_activity(void)
{
    struct rig rig;
    const struct tacho_batch *batch =
        open_and_collect(&rig, "nvidia-ml", "gpus 2\nprofile a100 1\nset 0 activity 30\n");
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.activity.sm"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(rig_reason(batch, 1, "gpu.activity.sm"), TACHO_ABSENT_UNSUPPORTED);
    batch_unref(batch);
    batch = rig_collect(&rig); /* too soon */
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.activity.sm"), TACHO_ABSENT_NOT_YET);
    batch_unref(batch);
    (void)usleep(130000);
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.activity.sm"), 32);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.activity.tensor"), 35);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.activity.dram"), 40);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.pcie.sent"), 50 * MIB);
    done(&rig, batch);
}

#define MIG_SCRIPT                                                       \
    "set 0 mig_mode 1\nmig 0 0 1 0 3 40192 11\nmig 0 1 1 1 3 40192 12\n" \
    "mig 0 5 2 0 1 9984 13\n"

/* P17: sparse indices; memory once for each GPU instance; the parent has no load. */
static void test_mig(void)
{
    struct rig rig;
    const struct tacho_batch *batch = open_and_collect(&rig, "nvidia-ml", MIG_SCRIPT);
    CU_ASSERT_STRING_EQUAL(rig_text(batch, 0, "gpu.mig_mode"), "enabled");
    CU_ASSERT_EQUAL(rig_reason(batch, 0, "gpu.utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(fakehost_count(batch, "mig"), 3);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "mig", 0, "profile"), "3g.39gb");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "mig", 2, "index"), "5");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "mig", 2, "gi"), "2");
    CU_ASSERT_EQUAL(fakehost_number(batch, "mig", 0, "gpu.memory.total"), 40192 * MIB);
    CU_ASSERT_PTR_NULL(fakehost_find(batch, "mig", 1, "gpu.memory.total"));
    CU_ASSERT_EQUAL(fakehost_number(batch, "mig", 2, "gpu.memory.total"), 9984 * MIB);
    done(&rig, batch);
}

/* P17: a GPU instance with the number of one that is gone has a history of its own. */
static void test_mig_anew(void)
{
    struct rig rig;
    batch_unref(open_and_collect(&rig, "nvidia-ml", MIG_SCRIPT));
    (void)usleep(130000);
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(fakehost_number(batch, "mig", 0, "gpu.activity.sm"), 35 + 1 + 2);
    batch_unref(batch);
    rig_script("set 0 mig_mode 1\nmig 0 0 1 0 7 80000 99\n");
    (void)usleep(100000);
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(fakehost_count(batch, "mig"), 1);
    const struct tacho_value *value = fakehost_find(batch, "mig", 0, "gpu.activity.sm");
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    CU_ASSERT_EQUAL(value->type, TACHO_VALUE_ABSENT);
    CU_ASSERT_EQUAL(value->reason, TACHO_ABSENT_NOT_YET);
    batch_unref(batch);
    rig_script(""); /* MIG off: the load is there again */
    batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(fakehost_count(batch, "mig"), 0);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.utilization"), 40);
    done(&rig, batch);
}

static void test_links_and_peers(void)
{
    struct rig rig;
    batch_unref(open_and_collect(&rig, "nvidia-ml", "gpus 5\nprofile rtx4090 4\n"));
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(fakehost_count(batch, "nvlink"), 4 * 18);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu_peer"), 5 * 4);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "nvlink", 1, "peer"), "0000:12:00.0");
    CU_ASSERT_EQUAL(fakehost_number(batch, "gpu_peer", 0, "gpu.peer.nvlinks"), 5);
    const struct tacho_value *p2p = fakehost_find(batch, "gpu_peer", 0, "gpu.peer.p2p");
    const struct tacho_value *level = fakehost_find(batch, "gpu_peer", 3, "gpu.peer.topology");
    CU_ASSERT_PTR_NOT_NULL_FATAL(p2p);
    CU_ASSERT_EQUAL(p2p->as.flags, 0x1f);
    CU_ASSERT_PTR_NOT_NULL_FATAL(level);
    CU_ASSERT_STRING_EQUAL(level->as.text, "system");
    p2p = fakehost_find(batch, "gpu_peer", 3, "gpu.peer.p2p");
    CU_ASSERT_PTR_NOT_NULL_FATAL(p2p);
    CU_ASSERT_EQUAL(p2p->as.flags, 0x1b); /* no links to a card without */
    done(&rig, batch);
}

static void test_capabilities(void)
{
    struct rig rig;
    batch_unref(open_and_collect(&rig, "nvidia-ml",
                                 "profile rtx4090\nreturn nvmlDeviceGetComputeMode 4\n"));
    const char *json = rig_call(&rig, "capabilities");
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"gpu.power\":{\"available\":true,\"since\":\"20"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json,
                                  "\"gpu.ecc.corrected\":{\"available\":false,\"reason\":"
                                  "\"unsupported\",\"code\":3,\"message\":\"Not Supported\""));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(json, "\"gpu.compute_mode\":{\"available\":false,\"reason\":\"denied\""));
    CU_ASSERT_EQUAL(json[strlen(json) - 1], '}');
    CU_ASSERT_EQUAL(tacho_plugin_v1.call(rig.self, "no_such", "{}", NULL, &rig.err), TACHO_CONFIG);
    rig_close(&rig);
}

const struct test tests[] = {
    {"old_library", test_old_library},
    {"unsupported_is_remembered", test_unsupported_is_remembered},
    {"denied", test_denied},
    {"power", test_power},
    {"energy", test_energy},
    {"units", test_units},
    {"wrapping", test_wrapping},
    {"relative_limits", test_relative_limits},
    {"unified", test_unified},
    {"fans", test_fans},
    {"samples", test_samples},
    {"activity", test_activity},
    {"mig", test_mig},
    {"mig_anew", test_mig_anew},
    {"links_and_peers", test_links_and_peers},
    {"capabilities", test_capabilities},
    {NULL, NULL},
};
