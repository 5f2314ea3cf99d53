/* SPDX-License-Identifier: MIT */
/* Simulated GPUs: every fault shows what it should, in the batch, as an event and as a result. */
#include <string.h>

#include "plugins/sim/test_rig.h"
#include "tests/harness.h"

static const char *event_text(const struct tacho_batch *event, const char *metric)
{
    const struct tacho_value *value = event ? fakehost_find(event, "gpu", 0, metric) : NULL;
    return value && value->type == TACHO_VALUE_TEXT ? value->as.text : "";
}

static void check_lost(const struct tacho_batch *batch, uint32_t gpu)
{
    const struct tacho_entity *entity = &batch->entities[gpu];
    CU_ASSERT_EQUAL(entity->value_count, M_GPU_COUNT);
    CU_ASSERT_STRING_EQUAL(entity->values[0].as.text, "failed");
    for (uint32_t i = 1; i < entity->value_count; i++) {
        CU_ASSERT_EQUAL(entity->values[i].type, TACHO_VALUE_ABSENT);
        CU_ASSERT_EQUAL(entity->values[i].reason, TACHO_ABSENT_LOST);
    }
}

static void test_lost_and_back(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.workload = "burst"; /* holds memory always: the other GPU has a process */
    options.faults = (struct tacho_strings)LIST("back:1@20s", "lost:1@10s");
    rig_open(&rig, &options);
    const struct tacho_batch *before = rig_skip(&rig, 10);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_emitted(&rig.host), 0);
    const struct tacho_batch *lost = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_PARTIAL);
    CU_ASSERT_STRING_EQUAL(rig.err.text, "1 of 2 GPUs is lost");
    CU_ASSERT_EQUAL(fakehost_count(lost, "gpu"), 2);
    CU_ASSERT_EQUAL(fakehost_count(lost, "process"), 1);
    CU_ASSERT_STRING_EQUAL(fakehost_find(lost, "gpu", 0, "gpu.status")->as.text, "ok");
    check_lost(lost, 1);
    CU_ASSERT_STRING_EQUAL(lost->entities[1].key, before->entities[1].key);
    CU_ASSERT_STRING_EQUAL(event_text(fakehost_emitted_at(&rig.host, 0), "event.type"), "gpu_lost");
    CU_ASSERT_STRING_EQUAL(event_text(fakehost_emitted_at(&rig.host, 0), "event.severity"),
                           "critical");
    const struct tacho_batch *back = rig_skip(&rig, 10);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_emitted(&rig.host), 2);
    CU_ASSERT_STRING_EQUAL(event_text(fakehost_emitted_at(&rig.host, 1), "event.type"), "gpu_back");
    CU_ASSERT_EQUAL(rig_number(back, 1, "gpu.energy"), 0);
    CU_ASSERT(rig_number(before, 1, "gpu.energy") > 0);
    batch_unref(before);
    batch_unref(lost);
    batch_unref(back);
    rig_close(&rig);
}

static void test_lost_for_a_while(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.faults = (struct tacho_strings)LIST("lost:0@2s+3s", "lost:0@3s");
    rig_open(&rig, &options);
    for (int tick = 0; tick < 8; tick++) {
        batch_unref(rig_collect(&rig));
        CU_ASSERT_EQUAL(rig.result, tick >= 2 && tick < 5 ? TACHO_PARTIAL : TACHO_OK);
    }
    CU_ASSERT_EQUAL(fakehost_emitted(&rig.host), 2);
    rig_close(&rig);
}

static void test_xid(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.faults =
        (struct tacho_strings)LIST("xid:79:0@1s", "xid:79:0@1s", "xid:48:1@1s", "xid:999:1@1s");
    rig_open(&rig, &options);
    const struct tacho_batch *batch = rig_skip(&rig, 2);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.xid.count"), 2);
    CU_ASSERT_EQUAL(rig_number(batch, 1, "gpu.xid.count"), 2);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.ecc.uncorrected"), 0);
    CU_ASSERT_EQUAL(rig_number(batch, 1, "gpu.ecc.uncorrected"), 1);
    CU_ASSERT_EQUAL_FATAL(fakehost_emitted(&rig.host), 4);
    const struct tacho_batch *event = fakehost_emitted_at(&rig.host, 0);
    CU_ASSERT(event->flags & TACHO_EVENT);
    CU_ASSERT_EQUAL(rig_number(event, 0, "gpu.xid"), 79);
    CU_ASSERT_STRING_EQUAL(event_text(event, "event.type"), "xid");
    CU_ASSERT_STRING_EQUAL(event_text(event, "event.message"),
                           "XID 79 on GPU 0 (simulated): the GPU has fallen off the bus");
    CU_ASSERT_STRING_EQUAL(event->entities[0].key, batch->entities[0].key);
    CU_ASSERT_EQUAL(rig_number(fakehost_emitted_at(&rig.host, 3), 0, "gpu.xid"), 999);
    batch_unref(batch);
    rig_close(&rig);
}

static uint64_t throttle_of(const struct tacho_batch *batch)
{
    return fakehost_find(batch, "gpu", 0, "gpu.throttle")->as.flags;
}

static void test_throttle(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.gpus = 1;
    options.workload = "training";
    options.faults = (struct tacho_strings)LIST("throttle:0@50s+20s");
    rig_open(&rig, &options);
    const struct tacho_batch *before = rig_skip(&rig, 50);
    const struct tacho_batch *during = rig_skip(&rig, 20);
    const struct tacho_batch *after = rig_skip(&rig, 1);
    uint64_t hot = THROTTLE_HW_SLOWDOWN | THROTTLE_HW_THERMAL;
    CU_ASSERT_EQUAL(throttle_of(before) & hot, 0);
    CU_ASSERT_EQUAL(throttle_of(during) & hot, hot);
    CU_ASSERT_EQUAL(throttle_of(after) & hot, 0);
    double clock = rig_number(before, 0, "gpu.clock.sm");
    CU_ASSERT(rig_number(during, 0, "gpu.clock.sm") < clock * 0.5);
    CU_ASSERT(rig_number(after, 0, "gpu.clock.sm") > clock * 0.8);
    CU_ASSERT(rig_number(during, 0, "gpu.temperature") > 85);
    CU_ASSERT(rig_number(during, 0, "gpu.power") < rig_number(before, 0, "gpu.power") - 100);
    CU_ASSERT_EQUAL_FATAL(fakehost_emitted(&rig.host), 2);
    CU_ASSERT_STRING_EQUAL(event_text(fakehost_emitted_at(&rig.host, 0), "event.type"),
                           "throttle_start");
    CU_ASSERT_STRING_EQUAL(event_text(fakehost_emitted_at(&rig.host, 1), "event.type"),
                           "throttle_stop");
    batch_unref(before);
    batch_unref(during);
    batch_unref(after);
    rig_close(&rig);
}

/* Faults that fall between two ticks are not lost. */
static void test_fault_between_ticks(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.tick_ns = 60 * SIM_NS_PER_S;
    options.faults = (struct tacho_strings)LIST("throttle:0@10s+5s", "lost:1@20s+1s");
    rig_open(&rig, &options);
    batch_unref(rig_skip(&rig, 2));
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_emitted(&rig.host), 4);
    rig_close(&rig);
}

static void test_hang_blocks(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.time_scale = 1000; /* a hang of 50 s takes 50 ms */
    options.tick_ns = SIM_NS_PER_S / 1000;
    options.faults = (struct tacho_strings)LIST("hang@1s+50s");
    rig_open(&rig, &options);
    batch_unref(rig_collect(&rig));
    int64_t begin = rig.host.table.mono_ns();
    batch_unref(rig_collect(&rig));
    CU_ASSERT(rig.host.table.mono_ns() - begin >= 50 * SIM_NS_PER_S / 1000);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    rig_close(&rig);
}

static void *cancel_soon(void *self)
{
    tacho_plugin_v1.cancel(self);
    return NULL;
}

static void test_hang_honours_cancel(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.faults = (struct tacho_strings)LIST("hang@0s+1h");
    rig_open(&rig, &options);
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, rig.self);
    const struct tacho_batch *batch = rig_collect(&rig);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    CU_ASSERT_EQUAL(batch->entity_count, 0);
    batch_unref(batch);
    batch_unref(rig_collect(&rig));
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    rig_close(&rig);
}

const struct test tests[] = {
    {"lost_and_back", test_lost_and_back},
    {"lost_for_a_while", test_lost_for_a_while},
    {"xid", test_xid},
    {"throttle", test_throttle},
    {"fault_between_ticks", test_fault_between_ticks},
    {"hang_blocks", test_hang_blocks},
    {"hang_honours_cancel", test_hang_honours_cancel},
    {NULL, NULL},
};
