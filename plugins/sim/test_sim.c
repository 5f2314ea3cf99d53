/* SPDX-License-Identifier: MIT */
/* Simulated GPUs: the same seed gives the same values, the physics hold together, wrong options are
 * refused with the reason. Faults are in test_sim_faults.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/sim/test_rig.h"
#include "tests/harness.h"

/* ---- the same again -------------------------------------------------------------------------- */

static void print_value(FILE *out, const struct tacho_value *value, const char *name)
{
    switch (value->type) {
    case TACHO_VALUE_F64: (void)fprintf(out, "  %s %.3f\n", name, value->as.f64); break;
    case TACHO_VALUE_I64: (void)fprintf(out, "  %s %" PRId64 "\n", name, value->as.i64); break;
    case TACHO_VALUE_TEXT: (void)fprintf(out, "  %s %s\n", name, value->as.text); break;
    case TACHO_VALUE_FLAGS:
        (void)fprintf(out, "  %s 0x%" PRIx64 "\n", name, value->as.flags);
        break;
    default: (void)fprintf(out, "  %s absent %s\n", name, batch_reason_name(value->reason)); break;
    }
}

static void print_batch(FILE *out, struct fakehost *host, const struct tacho_batch *batch, int tick)
{
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        (void)fprintf(out, "tick %d %s %s", tick, entity->kind, entity->key);
        for (uint32_t j = 0; j < entity->label_count; j++) {
            (void)fprintf(out, " %s=\"%s\"", entity->labels[j].name, entity->labels[j].value);
        }
        (void)fputc('\n', out);
        for (uint32_t j = 0; j < entity->value_count; j++) {
            struct tacho_metric metric;
            host->table.metric_info(entity->values[j].metric, &metric);
            print_value(out, &entity->values[j], metric.name);
        }
    }
}

/* What four different cards show at the ticks 0, 1, 60 and 600, as text. */
static char *play(int64_t seed)
{
    static const int shown[] = {0, 1, 60, 600};
    struct rig rig;
    struct sim_options options = rig_presets();
    options.gpus = 4;
    options.seed = seed;
    options.profile = (struct tacho_strings)LIST("h100", "a100", "l40s", "rtx4090");
    rig_open(&rig, &options);
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    int tick = 0;
    for (uint32_t i = 0; i < TACHO_COUNT(shown); i++) {
        const struct tacho_batch *batch = rig_skip(&rig, shown[i] - tick + 1);
        tick = shown[i] + 1;
        print_batch(out, &rig.host, batch, shown[i]);
        batch_unref(batch);
    }
    (void)fclose(out);
    rig_close(&rig);
    return text;
}

static char *read_whole(const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *in = fopen(path, "r");
    if (in) {
        ssize_t got = getdelim(&text, &length, '\0', in);
        (void)fclose(in);
        return got < 0 ? NULL : text;
    }
    return NULL;
}

/* TACHO_UPDATE=1 writes what is seen now into the fixture, to be looked at before it is kept. */
static void test_golden(void)
{
    const char *path = harness_source("plugins/sim/fixtures/golden.txt");
    char *seen = play(7);
    if (getenv("TACHO_UPDATE")) {
        FILE *out = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(out);
        (void)fputs(seen, out);
        (void)fclose(out);
    }
    char *wanted = read_whole(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
    CU_ASSERT_STRING_EQUAL(seen, wanted);
    free(wanted);
    free(seen);
}

static void test_seed_decides(void)
{
    char *first = play(1);
    char *again = play(1);
    char *other = play(2);
    CU_ASSERT_STRING_EQUAL(first, again);
    CU_ASSERT_STRING_NOT_EQUAL(first, other);
    free(first);
    free(again);
    free(other);
}

/* A GPU shows the same whether it has siblings or not. */
static void test_gpus_do_not_depend_on_each_other(void)
{
    struct rig one;
    struct rig many;
    struct sim_options options = rig_presets();
    options.workload = "training";
    options.gpus = 1;
    rig_open(&one, &options);
    options.gpus = 9;
    rig_open(&many, &options);
    const struct tacho_batch *alone = rig_skip(&one, 50);
    const struct tacho_batch *among = rig_skip(&many, 50);
    CU_ASSERT_STRING_EQUAL(alone->entities[0].key, among->entities[0].key);
    CU_ASSERT_EQUAL(rig_number(alone, 0, "gpu.energy"), rig_number(among, 0, "gpu.energy"));
    CU_ASSERT_NOT_EQUAL(rig_number(among, 0, "gpu.power"), rig_number(among, 1, "gpu.power"));
    batch_unref(alone);
    batch_unref(among);
    rig_close(&one);
    rig_close(&many);
}

/* ---- physics --------------------------------------------------------------------------------- */

static void check_bounds(const struct tacho_batch *batch, uint32_t gpu)
{
    double util = rig_number(batch, gpu, "gpu.utilization");
    double watts = rig_number(batch, gpu, "gpu.power");
    double limit = rig_number(batch, gpu, "gpu.power_limit");
    double celsius = rig_number(batch, gpu, "gpu.temperature");
    double used = rig_number(batch, gpu, "gpu.memory.used");
    double clock = rig_number(batch, gpu, "gpu.clock.sm");
    CU_ASSERT(util >= 0 && util <= 100);
    CU_ASSERT(watts > 15 && watts <= limit);
    CU_ASSERT(celsius >= 20 && celsius <= 92);
    CU_ASSERT(used >= 0);
    CU_ASSERT_EQUAL(used + rig_number(batch, gpu, "gpu.memory.free") +
                        rig_number(batch, gpu, "gpu.memory.reserved"),
                    rig_number(batch, gpu, "gpu.memory.total"));
    CU_ASSERT(clock >= 210e6 && clock <= rig_number(batch, gpu, "gpu.clock.graphics_max"));
    CU_ASSERT(rig_number(batch, gpu, "gpu.pcie.received") >= 0);
    CU_ASSERT(rig_number(batch, gpu, "gpu.memory_utilization") <= 100);
    CU_ASSERT(rig_number(batch, gpu, "gpu.decoder_utilization") <= 100);
}

static void test_bounds_and_energy(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.gpus = 8;
    options.profile = (struct tacho_strings)LIST("h100", "a100", "l40s", "rtx4090", "h100");
    rig_open(&rig, &options);
    double joules[8] = {0};
    double watts[8] = {0};
    for (int tick = 0; tick < 1300; tick++) {
        const struct tacho_batch *batch = rig_collect(&rig);
        CU_ASSERT_EQUAL(rig.result, TACHO_OK);
        for (uint32_t gpu = 0; gpu < 8; gpu++) {
            check_bounds(batch, gpu);
            double now = rig_number(batch, gpu, "gpu.power");
            double energy = rig_number(batch, gpu, "gpu.energy");
            double step = tick == 0 ? 0 : energy - joules[gpu];
            CU_ASSERT_DOUBLE_EQUAL(step, tick == 0 ? 0 : (watts[gpu] + now) / 2, 0.002);
            joules[gpu] = energy;
            watts[gpu] = now;
        }
        batch_unref(batch);
    }
    rig_close(&rig);
}

/* The mean of a metric on GPU 0 over the ticks after the start of a workload. */
static double mean_of(const char *workload, const char *metric)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.workload = workload;
    options.gpus = 1;
    rig_open(&rig, &options);
    batch_unref(rig_skip(&rig, 60));
    double sum = 0;
    for (int tick = 0; tick < 300; tick++) {
        const struct tacho_batch *batch = rig_collect(&rig);
        sum += rig_number(batch, 0, metric);
        batch_unref(batch);
    }
    rig_close(&rig);
    return sum / 300;
}

static void test_workloads_differ(void)
{
    CU_ASSERT_EQUAL(mean_of("idle", "gpu.utilization"), 0);
    CU_ASSERT_EQUAL(mean_of("idle", "gpu.processes"), 0);
    CU_ASSERT(mean_of("training", "gpu.utilization") > 85);
    CU_ASSERT(mean_of("training", "gpu.power") > 550);
    CU_ASSERT(mean_of("idle", "gpu.power") < 80);
    CU_ASSERT(mean_of("training", "gpu.temperature") > mean_of("idle", "gpu.temperature") + 15);
    double busy = mean_of("inference", "gpu.utilization");
    CU_ASSERT(busy > 25 && busy < 75);
    double burst = mean_of("burst", "gpu.utilization");
    CU_ASSERT(burst > 20 && burst < 45);
}

static void test_phases_follow_each_other(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.gpus = 1;
    options.phases = (struct tacho_strings)LIST("idle:30s", "training:1m");
    rig_open(&rig, &options);
    const struct tacho_batch *idle = rig_skip(&rig, 30);
    const struct tacho_batch *busy = rig_skip(&rig, 55);
    const struct tacho_batch *again = rig_skip(&rig, 10);
    CU_ASSERT_EQUAL(rig_number(idle, 0, "gpu.utilization"), 0);
    CU_ASSERT(rig_number(busy, 0, "gpu.utilization") > 50);
    CU_ASSERT_EQUAL(rig_number(again, 0, "gpu.utilization"), 0);
    batch_unref(idle);
    batch_unref(busy);
    batch_unref(again);
    rig_close(&rig);
}

static bool unsupported(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    const struct tacho_value *value = fakehost_find(batch, "gpu", gpu, metric);
    return value && value->type == TACHO_VALUE_ABSENT && value->reason == TACHO_ABSENT_UNSUPPORTED;
}

static void test_what_a_card_lacks_is_absent(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.profile = (struct tacho_strings)LIST("h100", "rtx4090");
    rig_open(&rig, &options);
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT(unsupported(batch, 0, "gpu.fan"));
    CU_ASSERT(!unsupported(batch, 0, "gpu.ecc.corrected"));
    CU_ASSERT(!unsupported(batch, 0, "gpu.memory.temperature"));
    CU_ASSERT(!unsupported(batch, 1, "gpu.fan"));
    CU_ASSERT(unsupported(batch, 1, "gpu.ecc.uncorrected"));
    CU_ASSERT(unsupported(batch, 1, "gpu.memory.temperature"));
    CU_ASSERT_EQUAL(batch->entities[0].value_count, M_GPU_COUNT);
    batch_unref(batch);
    rig_close(&rig);
}

static void test_says_that_it_is_simulated(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.faults = (struct tacho_strings)LIST("xid:31:0@0s");
    rig_open(&rig, &options);
    const struct tacho_batch *batch = rig_collect(&rig);
    const struct tacho_batch *event = fakehost_emitted_at(&rig.host, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(event);
    CU_ASSERT(batch->flags & TACHO_SIMULATED);
    CU_ASSERT(event->flags & TACHO_SIMULATED);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 1, "simulated"), "true");
    CU_ASSERT_STRING_EQUAL(fakehost_label(event, "gpu", 0, "simulated"), "true");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 0, "name"),
                           "NVIDIA H100 80GB HBM3 (simulated)");
    CU_ASSERT_EQUAL(strncmp(batch->entities[0].key, "GPU-SIM-", 8), 0);
    batch_unref(batch);
    rig_close(&rig);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_tick_is_the_interval(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    fakehost_init(&rig.host, &tacho_plugin_v1);
    rig.host.interval = "250000000";
    options.time_scale = 4;
    rig.self = fakehost_open(&rig.host, &options, &rig.err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig.self);
    CU_ASSERT_EQUAL(((struct sim *)rig.self)->step_ns, SIM_NS_PER_S);
    fakehost_close(&rig.host, rig.self);
    options.tick_ns = 5;
    rig.self = fakehost_open(&rig.host, &options, &rig.err);
    CU_ASSERT_EQUAL(((struct sim *)rig.self)->step_ns, 20);
    rig_close(&rig);
}

/* ---- processes ------------------------------------------------------------------------------- */

static void test_processes(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.workload = "burst";
    options.processes = (struct tacho_strings)LIST("0:alice:python3 -m http.server a:b:20GiB",
                                                   "*:root:monitor:512MiB");
    rig_open(&rig, &options);
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(fakehost_count(batch, "process"), 3);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.processes"), 2);
    CU_ASSERT_EQUAL(rig_number(batch, 1, "gpu.processes"), 1);
    CU_ASSERT_EQUAL(rig_number(batch, 0, "gpu.memory.used"), 0x1p20 + 20 * 0x1p30 + 512 * 0x1p20);
    CU_ASSERT_EQUAL(fakehost_number(batch, "process", 0, "gpu.process.memory"), 20 * 0x1p30);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "user"), "alice");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "command"),
                           "python3 -m http.server a:b");
    CU_ASSERT_EQUAL(batch->entities[2].parent, 0);
    CU_ASSERT_EQUAL(batch->entities[4].parent, 1);
    batch_unref(batch);
    rig_close(&rig);
}

/* ---- options --------------------------------------------------------------------------------- */

/* Opens with one list set; what open says must hold `expected`. */
static void expect_refusal(const char *option, const char *item, const char *expected)
{
    struct fakehost host;
    struct tacho_err err;
    struct sim_options options = rig_presets();
    struct tacho_strings list = {.items = &item, .count = 1};
    *(strcmp(option, "faults") == 0      ? &options.faults
      : strcmp(option, "phases") == 0    ? &options.phases
      : strcmp(option, "processes") == 0 ? &options.processes
                                         : &options.profile) = list;
    fakehost_init(&host, &tacho_plugin_v1);
    void *self = fakehost_open(&host, &options, &err);
    CU_ASSERT_PTR_NULL(self);
    CU_ASSERT_EQUAL(err.code, TACHO_CONFIG);
    CU_ASSERT_EQUAL(strncmp(err.text, option, strlen(option)), 0);
    if (!strstr(err.text, expected)) {
        printf("    %s: got \"%s\", expected \"%s\"\n", item, err.text, expected);
        CU_FAIL("wrong sentence");
    }
    if (self) {
        fakehost_close(&host, self);
    }
    fakehost_fini(&host);
}

static void test_wrong_options(void)
{
    static const struct {
        const char *option, *item, *expected;
    } cases[] = {
        {"profile", "h200", "\"h200\" is not h100, a100, l40s or rtx4090"},
        {"faults", "", "begins with none of"},
        {"faults", "melt:0@1s", "\"melt:0@1s\" begins with none of lost, back, xid"},
        {"faults", "lost", "lost:GPU@TIME"},
        {"faults", "lost:0", "lost:GPU@TIME"},
        {"faults", "lost@1s", "lost:GPU@TIME"},
        {"faults", "lost:x@1s", "lost:GPU@TIME"},
        {"faults", "lost:-1@1s", "lost:GPU@TIME"},
        {"faults", "lost:0@", "lost:GPU@TIME"},
        {"faults", "lost:0@-1s", "lost:GPU@TIME"},
        {"faults", "lost:0@1y", "lost:GPU@TIME"},
        {"faults", "lost:0@1s+", "lost:GPU@TIME"},
        {"faults", "lost:0@1s+0s", "lost:GPU@TIME"},
        {"faults", "lost:2@1s", "names GPU 2, but there are only 0 to 1"},
        {"faults", "back:0@1s+2s", "back:GPU@TIME"},
        {"faults", "xid:79@1s", "xid:NUMBER:GPU@TIME"},
        {"faults", "xid:0:0@1s", "xid:NUMBER:GPU@TIME"},
        {"faults", "xid:79:9@1s", "names GPU 9"},
        {"faults", "throttle:0@1s", "throttle:GPU@TIME+DURATION"},
        {"faults", "hang@1s", "hang@TIME+DURATION"},
        {"faults", "hang:0@1s+1s", "hang@TIME+DURATION"},
        {"faults", "hang@1e300h+1s", "hang@TIME+DURATION"},
        {"phases", "idle", "KIND:DURATION"},
        {"phases", "idle:0s", "KIND:DURATION"},
        {"phases", "sleep:10s", "KIND:DURATION"},
        {"processes", "0:alice:python3", "GPU:USER:COMMAND:MEMORY"},
        {"processes", "0:alice:python3:much", "GPU:USER:COMMAND:MEMORY"},
        {"processes", "0::python3:1GiB", "GPU:USER:COMMAND:MEMORY"},
        {"processes", "7:alice:python3:1GiB", "names GPU 7"},
        {"processes", "0:alice:python3:80GiB", "more memory than the 81079 MiB"},
    };
    for (uint32_t i = 0; i < TACHO_COUNT(cases); i++) {
        expect_refusal(cases[i].option, cases[i].item, cases[i].expected);
    }
}

static void test_open_and_close(void)
{
    struct sim_options options = rig_presets();
    options.faults = (struct tacho_strings)LIST("xid:79:0@0s");
    options.processes = (struct tacho_strings)LIST("*:root:monitor:1GiB");
    for (int i = 0; i < 1000; i++) {
        struct rig rig;
        rig_open(&rig, &options);
        batch_unref(rig_collect(&rig));
        rig_close(&rig);
    }
}

static void test_a_whole_fleet(void)
{
    struct rig rig;
    struct sim_options options = rig_presets();
    options.gpus = SIM_GPU_LIMIT;
    rig_open(&rig, &options);
    const struct tacho_batch *batch = rig_skip(&rig, 3);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), SIM_GPU_LIMIT);
    CU_ASSERT_FALSE(batch->truncated);
    CU_ASSERT_STRING_NOT_EQUAL(fakehost_label(batch, "gpu", 0, "pci_bus_id"),
                               fakehost_label(batch, "gpu", SIM_GPU_LIMIT - 1, "pci_bus_id"));
    batch_unref(batch);
    rig_close(&rig);
}

const struct test tests[] = {
    {"golden", test_golden},
    {"seed_decides", test_seed_decides},
    {"gpus_do_not_depend_on_each_other", test_gpus_do_not_depend_on_each_other},
    {"bounds_and_energy", test_bounds_and_energy},
    {"workloads_differ", test_workloads_differ},
    {"phases_follow_each_other", test_phases_follow_each_other},
    {"what_a_card_lacks_is_absent", test_what_a_card_lacks_is_absent},
    {"says_that_it_is_simulated", test_says_that_it_is_simulated},
    {"tick_is_the_interval", test_tick_is_the_interval},
    {"processes", test_processes},
    {"wrong_options", test_wrong_options},
    {"open_and_close", test_open_and_close},
    {"a_whole_fleet", test_a_whole_fleet},
    {NULL, NULL},
};
