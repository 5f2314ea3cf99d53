/* SPDX-License-Identifier: MIT */
/* nvtop under control: whatever it does, a reading ends, nothing is left behind, and it is said. */
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugins/nvtop/nvtop.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct rig {
    struct fakehost host;
    struct nvtop_options options;
    const char *argv[4];
    char state[4096]; /* where the fake nvtop writes "PID LC_ALL ARGUMENTS" of each run */
    void *self;
    struct tacho_err err;
    int result;
};

static void rig_init(struct rig *rig, const char *mode, const char *what)
{
    memset(rig, 0, sizeof *rig);
    fakehost_init(&rig->host, &tacho_plugin_v1);
    rig->host.interval = "100000000";
    (void)snprintf(rig->state, sizeof rig->state, "%s/state", harness_tmpdir());
    (void)unlink(rig->state);
    rig->argv[0] = "sh";
    rig->argv[1] = harness_source("plugins/nvtop/fixtures/fake-nvtop");
    rig->argv[2] = what;
    rig->argv[3] = rig->state;
    rig->options = (struct nvtop_options){.command = {.items = rig->argv, .count = 4},
                                          .mode = mode,
                                          .proc = "/proc",
                                          .processes = 1,
                                          .timeout_ns = 10 * NVTOP_NS_PER_S,
                                          .max_output_bytes = 4 << 20};
}

static void rig_open(struct rig *rig)
{
    rig->self = fakehost_open(&rig->host, &rig->options, &rig->err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig->self);
}

/* One reading; how many GPUs it had. */
static uint32_t rig_collect(struct rig *rig, double *out_utilization)
{
    rig->err = (struct tacho_err){0};
    const struct tacho_batch *batch =
        fakehost_collect(&rig->host, rig->self, &rig->result, &rig->err);
    uint32_t count = fakehost_count(batch, "gpu");
    if (out_utilization) {
        *out_utilization = fakehost_number(batch, "gpu", 0, "gpu.utilization");
    }
    batch_unref(batch);
    return count;
}

static void rig_close(struct rig *rig)
{
    fakehost_close(&rig->host, rig->self);
    fakehost_fini(&rig->host);
}

static int run_once(struct rig *rig)
{
    rig_open(rig);
    (void)rig_collect(rig, NULL);
    rig_close(rig);
    return rig->result;
}

static bool says(const struct rig *rig, const char *expected)
{
    if (!strstr(rig->err.text, expected)) {
        printf("    got \"%s\", expected \"%s\"\n", rig->err.text, expected);
        return false;
    }
    return true;
}

/* The lines of the state file, and the last of them. */
static int read_state(const struct rig *rig, char *out_last, size_t size)
{
    int count = 0;
    FILE *in = fopen(rig->state, "r");
    out_last[0] = '\0';
    while (in && fgets(out_last, (int)size, in)) {
        count++;
    }
    if (in) {
        (void)fclose(in);
    }
    return count;
}

static bool is_running(int pid)
{
    char path[64];
    char state = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *in = fopen(path, "r");
    bool there = in && fscanf(in, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z';
    if (in) {
        (void)fclose(in);
    }
    return there;
}

/* Whether the process of the last line has ended; waits a while for it. */
static bool gone(const struct rig *rig)
{
    char last[256];
    CU_ASSERT_TRUE(read_state(rig, last, sizeof last) > 0);
    int pid = (int)strtol(last, NULL, 10);
    for (int i = 0; i < 500 && is_running(pid); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * NVTOP_NS_PER_MS}, NULL);
    }
    return pid > 0 && !is_running(pid);
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) {
        count++;
    }
    if (folder) {
        closedir(folder);
    }
    return count;
}

/* ---- once ------------------------------------------------------------------------------------ */

static void test_once(void)
{
    struct rig rig;
    char last[256];
    rig_init(&rig, "oneshot", "once");
    rig_open(&rig);
    int before = count_descriptors();
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 3);
        CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    }
    CU_ASSERT_EQUAL(count_descriptors(), before);
    CU_ASSERT_EQUAL(read_state(&rig, last, sizeof last), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(last, " C -s\n"));
    rig_close(&rig);
}

/* A program without JSON is not asked for it. */
static void test_old(void)
{
    struct rig rig;
    char last[256];
    rig_init(&rig, "oneshot", "old");
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_UNSUPPORTED);
    CU_ASSERT_TRUE(says(&rig, "nvtop 3.1.0 prints no JSON"));
    CU_ASSERT_EQUAL(read_state(&rig, last, sizeof last), 0);
    rig_init(&rig, "oneshot", "other");
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_UNSUPPORTED);
    CU_ASSERT_TRUE(says(&rig, "something else"));
    CU_ASSERT_EQUAL(read_state(&rig, last, sizeof last), 0);
}

static void test_not_there(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "once");
    rig.argv[0] = "/does/not/exist";
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_UNSUPPORTED);
    CU_ASSERT_TRUE(says(&rig, "No such file"));
    rig_init(&rig, "oneshot", "once");
    rig.options.command.count = 0;
    CU_ASSERT_PTR_NULL(fakehost_open(&rig.host, &rig.options, &rig.err));
    CU_ASSERT_EQUAL(rig.err.code, TACHO_CONFIG);
    fakehost_fini(&rig.host);
}

static void test_ends_badly(void)
{
    static const struct {
        const char *what;
        int result;
        const char *said;
    } cases[] = {
        {"crash", TACHO_RETRY, "signal 11 (Segmentation fault) after 0 bytes"},
        {"cut", TACHO_PARTIAL, "signal 11"},
        {"complain", TACHO_RETRY, "exit code 3: cannot open display"},
        {"none", TACHO_NO_DATA, "no GPU"},
        {"flood", TACHO_RETRY, "max_output"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;
        rig_init(&rig, "oneshot", cases[i].what);
        CU_ASSERT_EQUAL(run_once(&rig), cases[i].result);
        CU_ASSERT_TRUE(says(&rig, cases[i].said));
        CU_ASSERT_TRUE(gone(&rig));
    }
}

/* One that takes no SIGTERM and has a child of its own: both are ended, reading after reading. */
static void test_hang(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "hang");
    rig.options.timeout_ns = 3 * NVTOP_NS_PER_S / 2;
    rig_open(&rig);
    int before = count_descriptors();
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 0);
        CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
        CU_ASSERT_TRUE(says(&rig, "was ended"));
        CU_ASSERT_TRUE(gone(&rig));
    }
    CU_ASSERT_EQUAL(count_descriptors(), before);
    rig_close(&rig);
}

/* Cancels once the program runs. */
static void *cancel_later(void *context)
{
    struct rig *rig = context;
    char last[256];
    while (read_state(rig, last, sizeof last) == 0) {
        nanosleep(&(struct timespec){.tv_nsec = NVTOP_NS_PER_MS}, NULL);
    }
    tacho_plugin_v1.cancel(rig->self);
    return NULL;
}

static void test_cancel(void)
{
    struct rig rig;
    pthread_t thread;
    rig_init(&rig, "oneshot", "silent");
    rig_open(&rig);
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, cancel_later, &rig), 0);
    CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    CU_ASSERT_TRUE(says(&rig, "cancelled"));
    CU_ASSERT_TRUE(gone(&rig));
    rig_close(&rig);
    /* One that comes too late does not end the next reading. */
    rig_init(&rig, "oneshot", "once");
    rig_open(&rig);
    tacho_plugin_v1.cancel(rig.self);
    CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 3);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    rig_close(&rig);
}

/* While one cannot be ended, no other is started. One that lives stands in for it. */
static void test_stuck(void)
{
    static const char *const items[] = {"sleep"};
    static const char *const minute[] = {"60", NULL};
    static const struct tacho_strings command = {.items = items, .count = 1};
    struct nvtop_child child;
    struct tacho_err err = {0};
    nvtop_child_init(&child, 1024);
    CU_ASSERT_EQUAL_FATAL(nvtop_child_start(&child, &command, minute, environ, &err), TACHO_OK);
    struct nvtop_child other = {.stuck = child.pid, .limit = 1024};
    CU_ASSERT_EQUAL(nvtop_child_start(&other, &command, minute, environ, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cannot be ended"));
    CU_ASSERT_EQUAL(other.pid, 0);
    nvtop_child_fini(&child);
    err = (struct tacho_err){0};
    CU_ASSERT_EQUAL(nvtop_child_start(&other, &command, minute, environ, &err), TACHO_OK);
    nvtop_child_fini(&other);
}

/* ---- loop ------------------------------------------------------------------------------------ */

/* Readings until the loop has printed its second snapshot. */
static void test_loop(void)
{
    struct rig rig;
    char last[256];
    double utilization = NAN;
    rig_init(&rig, "loop", "loop");
    rig_open(&rig);
    CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 3);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    int before = count_descriptors();
    for (int i = 0; i < 100 && !(utilization == 74); i++) {
        (void)rig_collect(&rig, &utilization);
    }
    CU_ASSERT_EQUAL(utilization, 74);
    CU_ASSERT_EQUAL(count_descriptors(), before);
    CU_ASSERT_EQUAL(read_state(&rig, last, sizeof last), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(last, " C -s -l -d 1\n"));
    rig_close(&rig);
    CU_ASSERT_TRUE(gone(&rig));
}

/* One that cannot loop is started for each reading, and that is said once. */
static void test_loop_old(void)
{
    struct rig rig;
    char last[256];
    rig_init(&rig, "loop", "first");
    rig_open(&rig);
    CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 3);
    CU_ASSERT_EQUAL(rig_collect(&rig, NULL), 3);
    CU_ASSERT_EQUAL(rig.host.log_count, 1);
    CU_ASSERT_EQUAL(read_state(&rig, last, sizeof last), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(last, " C -s\n"));
    rig_close(&rig);
}

/* Reads until a failure; then the loop is started again by the next reading. */
static void check_loop_fails(const char *what, int result, const char *said)
{
    struct rig rig;
    char last[256];
    rig_init(&rig, "loop", what);
    if (strcmp(what, "silent") == 0) {
        rig.options.timeout_ns = 3 * NVTOP_NS_PER_S / 2;
    }
    rig_open(&rig);
    for (int round = 1; round <= 2; round++) {
        do {
            (void)rig_collect(&rig, NULL);
        } while (rig.result == TACHO_OK || (rig.result == TACHO_NO_DATA && !rig.err.text[0]));
        CU_ASSERT_EQUAL(rig.result, result);
        CU_ASSERT_TRUE(says(&rig, said));
        CU_ASSERT_EQUAL(read_state(&rig, last, sizeof last), round);
        CU_ASSERT_TRUE(gone(&rig));
    }
    rig_close(&rig);
}

static void test_loop_fails(void)
{
    check_loop_fails("silent", TACHO_RETRY, "no snapshot");
    check_loop_fails("crash", TACHO_RETRY, "signal 11");
    check_loop_fails("none", TACHO_NO_DATA, "no GPU");
    check_loop_fails("once", TACHO_RETRY, "ended with exit code 0");
    check_loop_fails("flood", TACHO_RETRY, "max_output");
}

const struct test tests[] = {{"once", test_once},
                             {"old", test_old},
                             {"not_there", test_not_there},
                             {"ends_badly", test_ends_badly},
                             {"hang", test_hang},
                             {"cancel", test_cancel},
                             {"stuck", test_stuck},
                             {"loop", test_loop},
                             {"loop_old", test_loop_old},
                             {"loop_fails", test_loop_fails},
                             {NULL, NULL}};
