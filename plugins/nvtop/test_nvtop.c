/* SPDX-License-Identifier: MIT */
/* What nvtop prints, in every shape, becomes the right values, and what is not there becomes
 * absent. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvtop/nvtop.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct bed {
    struct fakehost host;
    struct nvtop_options options;
    struct tacho_batch *batch;
    struct tacho_err err;
    int result;
};

/* Bytes are put into memory of exactly their size, so that a sanitizer sees a read beyond. */
static void read_bytes(struct bed *bed, const char *data, size_t length)
{
    char *copy = malloc(length ? length : 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    memcpy(copy, data, length);
    memset(bed, 0, sizeof *bed);
    fakehost_init(&bed->host, &tacho_plugin_v1);
    bed->options = (struct nvtop_options){.proc = "/proc", .processes = 1};
    bed->batch = bed->host.table.batch_new(&bed->host.table);
    bed->result = nvtop_fill(&bed->host.table, &bed->options, bed->batch, copy, length, &bed->err);
    batch_seal(bed->batch, 1);
    free(copy);
}

static void read_text(struct bed *bed, const char *text)
{
    read_bytes(bed, text, strlen(text));
}

static void bed_fini(struct bed *bed)
{
    batch_unref(bed->batch);
    fakehost_fini(&bed->host);
}

static char *slurp(const char *path, size_t *out_length)
{
    FILE *in = fopen(path, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    char *data = malloc(1 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    *out_length = fread(data, 1, 1 << 20, in);
    (void)fclose(in);
    return data;
}

static void read_path(struct bed *bed, const char *path)
{
    size_t length;
    char *data = slurp(path, &length);
    read_bytes(bed, data, length);
    free(data);
}

static double gpu(const struct bed *bed, uint32_t nth, const char *metric)
{
    return fakehost_number(bed->batch, "gpu", nth, metric);
}

/* The reason why a value is absent; 0: it is there, -1: not even that is said. */
static int reason(const struct bed *bed, const char *kind, uint32_t nth, const char *metric)
{
    const struct tacho_value *value = fakehost_find(bed->batch, kind, nth, metric);
    if (!value) {
        return -1;
    }
    return value->type == TACHO_VALUE_ABSENT ? value->reason : 0;
}

static const char *label(const struct bed *bed, const char *kind, uint32_t nth, const char *name)
{
    const char *text = fakehost_label(bed->batch, kind, nth, name);
    return text ? text : "";
}

/* ---- our own material ------------------------------------------------------------------------ */

static void test_units(void)
{
    struct bed bed;
    read_path(&bed, harness_source("plugins/nvtop/fixtures/devices.json"));
    CU_ASSERT_EQUAL(bed.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "gpu"), 3);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.clock.graphics"), 2505e6);
    CU_ASSERT_DOUBLE_EQUAL(gpu(&bed, 0, "gpu.temperature"), 61.11, 0.01);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.fan"), 30);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 0, "gpu.fan_speed"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.power"), 117);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.encoder_utilization"), 4);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.decoder_utilization"), 0);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "nvtop.memory_share"), 35);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.memory.total"), 20e9);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.processes"), 2);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.memory.unattributed"), 2e9);
    CU_ASSERT_EQUAL(gpu(&bed, 1, "gpu.fan_speed"), 1179);
    CU_ASSERT_EQUAL(gpu(&bed, 1, "gpu.memory.total"), 20464.0 * 1048576);
    CU_ASSERT_EQUAL(gpu(&bed, 1, "nvtop.codec_utilization"), 7);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 1, "gpu.encoder_utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 1, "gpu.utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(gpu(&bed, 1, "gpu.processes"), 0);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 2, "gpu.temperature"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 2, "gpu.fan"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 2, "gpu.memory.used"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 2, "gpu.processes"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 0, "gpu.memory_utilization"), -1);
    bed_fini(&bed);
}

static void test_identity(void)
{
    struct bed bed;
    struct tacho_entity entity;
    read_path(&bed, harness_source("plugins/nvtop/fixtures/devices.json"));
    CU_ASSERT_EQUAL_FATAL(batch_entity_at(bed.batch, 0, &entity), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(entity.key, "nvtop-0-nvidia-rtx-6000-ada");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "index"), "0");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "name"), "NVIDIA RTX 6000 Ada");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "identity"), "weak");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "vendor"), "nvidia");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 1, "vendor"), "amd");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 2, "vendor"), "intel");
    bed_fini(&bed);
    read_text(&bed, "[{\"device_name\": \"Adamdream\", \"temp\": \"1C\"}]");
    CU_ASSERT_PTR_NULL(fakehost_label(bed.batch, "gpu", 0, "vendor"));
    bed_fini(&bed);
    read_text(&bed, "[{\"device_name\": null, \"temp\": \"1C\"}]");
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "name"), "unknown");
    bed_fini(&bed);
}

static void test_processes(void)
{
    struct bed bed;
    read_path(&bed, harness_source("plugins/nvtop/fixtures/devices.json"));
    CU_ASSERT_EQUAL_FATAL(fakehost_count(bed.batch, "process"), 2);
    CU_ASSERT_STRING_EQUAL(label(&bed, "process", 0, "pid"), "2147483000");
    CU_ASSERT_STRING_EQUAL(label(&bed, "process", 0, "user"), "alice");
    CU_ASSERT_STRING_EQUAL(label(&bed, "process", 0, "command"),
                           "python3 \"train me.py\" --path C:\\new");
    CU_ASSERT_STRING_EQUAL(label(&bed, "process", 0, "type"), "mixed");
    CU_ASSERT_STRING_EQUAL(label(&bed, "process", 1, "type"), "graphics");
    CU_ASSERT_PTR_NULL(fakehost_label(bed.batch, "process", 1, "user"));
    CU_ASSERT_EQUAL(fakehost_number(bed.batch, "process", 0, "gpu.process.memory"), 4e9);
    CU_ASSERT_EQUAL(fakehost_number(bed.batch, "process", 0, "gpu.process.utilization"), 12);
    CU_ASSERT_EQUAL(reason(&bed, "process", 1, "gpu.process.utilization"),
                    TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(bed.batch->shape_count, 1);
    bed_fini(&bed);
}

/* Who a process is comes from the host, when it knows it. */
static int fake_process(const char *proc, int32_t pid, struct tacho_process *out,
                        struct tacho_err *err)
{
    (void)err;
    if (strcmp(proc, "/proc") != 0 || pid != 42) {
        return TACHO_NO_DATA;
    }
    out->start_ticks = 777;
    (void)snprintf(out->user, sizeof out->user, "bob");
    (void)snprintf(out->command, sizeof out->command, "the real one");
    (void)snprintf(out->job, sizeof out->job, "9");
    return TACHO_OK;
}

static int sees(const char *proc)
{
    (void)proc;
    return 1;
}

static int sees_not(const char *proc)
{
    (void)proc;
    return 0;
}

static void check_identified(int (*sees_host)(const char *), const char *key, const char *user)
{
    static const char text[] = "[{\"device_name\": \"X\", \"temp\": \"1C\", \"processes\": "
                               "[{\"pid\": \"42\", \"user\": \"alice\", \"cmdline\": \"told\"}]}]";
    struct fakehost host;
    struct nvtop_options options = {.proc = "/proc", .processes = 1};
    struct tacho_err err = {0};
    struct tacho_entity entity;
    fakehost_init(&host, &tacho_plugin_v1);
    host.table.process = fake_process;
    host.table.process_sees_host = sees_host;
    struct tacho_batch *batch = host.table.batch_new(&host.table);
    CU_ASSERT_EQUAL(nvtop_fill(&host.table, &options, batch, text, sizeof text - 1, &err),
                    TACHO_OK);
    batch_seal(batch, 1);
    CU_ASSERT_EQUAL_FATAL(batch_entity_at(batch, 1, &entity), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(entity.key, key);
    CU_ASSERT_EQUAL(entity.parent, 0);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "user"), user);
    batch_unref(batch);
    fakehost_fini(&host);
}

static void test_who(void)
{
    check_identified(sees, "42:777", "bob");
    check_identified(sees_not, "42:0", "alice");
}

static void test_no_processes_wanted(void)
{
    static const char text[] =
        "[{\"device_name\": \"X\", \"temp\": \"1C\", \"processes\": [{\"pid\": \"42\"}]}]";
    struct bed bed;
    read_text(&bed, "");
    bed.options.processes = 0;
    struct tacho_batch *batch = bed.host.table.batch_new(&bed.host.table);
    struct tacho_err err = {0};
    (void)nvtop_fill(&bed.host.table, &bed.options, batch, text, sizeof text - 1, &err);
    batch_seal(batch, 1);
    CU_ASSERT_EQUAL(fakehost_count(batch, "process"), 0);
    CU_ASSERT_EQUAL(fakehost_number(batch, "gpu", 0, "gpu.processes"), 1);
    CU_ASSERT_TRUE(isnan(fakehost_number(batch, "gpu", 0, "gpu.memory.unattributed")));
    batch_unref(batch);
    bed_fini(&bed);
}

/* Text that is not JSON, and what is still read from it. */
static void test_lenient(void)
{
    struct bed bed;
    read_text(&bed, "[\n{\"device_name\": \"A \"B\" C\",\n\"temp\": \"40C\"\n\"mem_total\": \"8\"\n"
                    "\"new\": {\"a\": [1, {}]}, \"power_draw\": 12\n}\n]");
    CU_ASSERT_EQUAL(bed.result, TACHO_PARTIAL); /* 12 of what? */
    CU_ASSERT_PTR_NOT_NULL(strstr(bed.err.text, "power_draw is \"12\" of device 0"));
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "name"), "A \"B\" C");
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.temperature"), 40);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.memory.total"), 8);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 0, "gpu.power"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 0, "gpu.fan"), TACHO_ABSENT_UNSUPPORTED);
    bed_fini(&bed);
    static const char raw[] = "[{\"device_name\": \"a\0b\x01\xff\", \"gpu_util\": \"nan%\","
                              "\"temp\": \"1e999C\", \"fan_speed\": \"5%\"}]";
    read_bytes(&bed, raw, sizeof raw - 1);
    CU_ASSERT_STRING_EQUAL(label(&bed, "gpu", 0, "name"), "a b \xef\xbf\xbd");
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 0, "gpu.utilization"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(reason(&bed, "gpu", 0, "gpu.temperature"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(gpu(&bed, 0, "gpu.fan"), 5);
    bed_fini(&bed);
}

static void test_refused(void)
{
    static const struct {
        const char *text;
        int result;
        const char *said;
    } cases[] = {
        {"No GPU to monitor.\n", TACHO_NO_DATA, "no GPU"},
        {"", TACHO_RETRY, "printed nothing"},
        {" \n", TACHO_RETRY, "printed nothing"},
        {"warning: [ {\"temp\": \"1C\"} ]", TACHO_RETRY, "\"warning"},
        {"{\"temp\": \"1C\"}", TACHO_RETRY, "array was expected"},
        {"[]", TACHO_NO_DATA, "no device"},
        {"[", TACHO_RETRY, "cut after 0"},
        {"[1, 2]", TACHO_RETRY, "cut after 0"},
        {"[{\"device_name\": \"X\", \"temp\": null}]", TACHO_PARTIAL, "nothing but the name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bed bed;
        read_text(&bed, cases[i].text);
        CU_ASSERT_EQUAL(bed.result, cases[i].result);
        if (!strstr(bed.err.text, cases[i].said)) {
            printf("    \"%s\" gave \"%s\"\n", cases[i].text, bed.err.text);
            CU_FAIL("another sentence was expected");
        }
        bed_fini(&bed);
    }
}

/* Cut at every byte: only whole devices, and never another value than that of the whole. */
static void test_cut_anywhere(void)
{
    size_t length;
    char *data = slurp(harness_source("plugins/nvtop/fixtures/devices.json"), &length);
    static const double power[] = {117, 23, NAN};
    for (size_t cut = 0; cut < length - 1; cut++) {
        struct bed bed;
        read_bytes(&bed, data, cut);
        uint32_t count = fakehost_count(bed.batch, "gpu");
        CU_ASSERT_EQUAL(bed.result == TACHO_PARTIAL, count > 0);
        for (uint32_t i = 0; i < count; i++) {
            double value = gpu(&bed, i, "gpu.power");
            CU_ASSERT_TRUE(i == 2 ? isnan(value) : value == power[i]);
        }
        CU_ASSERT_TRUE(count == 0 || fakehost_count(bed.batch, "process") == 2);
        bed_fini(&bed);
    }
    free(data);
}

static void test_arrays(void)
{
    CU_ASSERT_EQUAL(nvtop_json_array("[]", 2), 2);
    CU_ASSERT_EQUAL(nvtop_json_array(" [{\"a\": \"]\"}]\n[", 15), 13);
    CU_ASSERT_EQUAL(nvtop_json_array("[{\"a\": \"x", 9), 0);
    CU_ASSERT_EQUAL(nvtop_json_array("", 0), 0);
    CU_ASSERT_EQUAL(nvtop_json_array("No", 2), -1);
}

/* ---- what others captured -------------------------------------------------------------------- */

static const struct {
    const char *file;
    int result;
    uint32_t gpus, processes;
    double temperature, power, memory_used; /* of the first; NaN: absent */
} captured[] = {
    {"nvtop-3.0.1_s-unknown-option.out", TACHO_RETRY, 0, 0, NAN, NAN, NAN},
    {"nvtop-3.2.0_fahrenheit.json", TACHO_OK, 2, 0, 82.78, 342, NAN},
    {"nvtop-3.2.0_h100-lost.json", TACHO_PARTIAL, 4, 0, 34, 95, NAN},
    {"nvtop-3.2.0_h100x8.json", TACHO_OK, 8, 0, 34, 95, NAN},
    {"nvtop-3.2.0_l40s-busy.json", TACHO_OK, 2, 0, 83, 342, NAN},
    {"nvtop-3.2.0_no-gpu.out", TACHO_NO_DATA, 0, 0, NAN, NAN, NAN},
    {"nvtop-3.3.0_missing-commas.json", TACHO_OK, 2, 0, 83, 342, 39685497815},
    {"nvtop-3.3.2_gb200.json", TACHO_OK, 8, 0, 36, 145, 0},
    {"nvtop-3.3.2_loop.json", TACHO_OK, 2, 4, 83, 342, 39685497815},
    {"nvtop-3.3.2_processes.json", TACHO_OK, 2, 4, 83, 342, 39685497815},
    {"nvtop-3.3.2_vanished-pid-sigsegv.out", TACHO_RETRY, 0, 0, NAN, NAN, NAN},
    {"nvtop-master_no-processes.json", TACHO_OK, 2, 0, 83, 342, 39685497815},
    {"wild_3050ti-laptop_680m.json", TACHO_OK, 2, 0, 48, 13, 349372416},
};

static bool near(double value, double expected)
{
    return isnan(expected) ? isnan(value) : fabs(value - expected) < 0.01;
}

/* Every value of a null or missing member is absent with a reason, so none is a made-up zero. */
static uint32_t count_values(const struct bed *bed, bool absent)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < bed->batch->value_count; i++) {
        count += (bed->batch->values[i].type == TACHO_VALUE_ABSENT) == absent;
    }
    return count;
}

static void check_captured(size_t at, const char *path)
{
    struct bed bed;
    read_path(&bed, path);
    printf("    %-38s %d gpus %u processes %u values %3u absent %3u  %s\n", captured[at].file,
           bed.result, fakehost_count(bed.batch, "gpu"), fakehost_count(bed.batch, "process"),
           count_values(&bed, false), count_values(&bed, true), bed.err.text);
    CU_ASSERT_EQUAL(bed.result, captured[at].result);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "gpu"), captured[at].gpus);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "process"), captured[at].processes);
    CU_ASSERT_TRUE(near(gpu(&bed, 0, "gpu.temperature"), captured[at].temperature));
    CU_ASSERT_TRUE(near(gpu(&bed, 0, "gpu.power"), captured[at].power));
    CU_ASSERT_TRUE(near(gpu(&bed, 0, "gpu.memory.used"), captured[at].memory_used));
    bed_fini(&bed);
}

static void test_captured(void)
{
    const char *folder = harness_fixture("nvtop");
    if (!folder) {
        harness_skip("no fixtures");
        return;
    }
    uint32_t files = 0;
    DIR *list = opendir(folder);
    CU_ASSERT_PTR_NOT_NULL_FATAL(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        files += entry->d_name[0] != '.';
    }
    closedir(list);
    CU_ASSERT_EQUAL(files, sizeof captured / sizeof captured[0]); /* none is left out */
    for (size_t i = 0; i < sizeof captured / sizeof captured[0]; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", folder, captured[i].file);
        check_captured(i, path);
    }
}

const struct test tests[] = {{"units", test_units},
                             {"identity", test_identity},
                             {"processes", test_processes},
                             {"who", test_who},
                             {"no_processes_wanted", test_no_processes_wanted},
                             {"lenient", test_lenient},
                             {"refused", test_refused},
                             {"cut_anywhere", test_cut_anywhere},
                             {"arrays", test_arrays},
                             {"captured", test_captured},
                             {NULL, NULL}};
