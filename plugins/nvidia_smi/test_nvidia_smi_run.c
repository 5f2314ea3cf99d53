/* SPDX-License-Identifier: MIT */
/* nvidia-smi under control: whatever the program does, a reading ends in time, nothing is left
 * behind, and what happened is said. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/nvidia_smi/nvidia_smi.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct rig {
    struct fakehost host;
    struct smi_options options;
    const char *argv[4];
    void *self;
    struct tacho_err err;
    int result;
};

/* A shell script that gets our arguments as $1 and on; DOC prints a document of one GPU. */
static void rig_init(struct rig *rig, const char *script)
{
    static char text[4096];
    memset(rig, 0, sizeof *rig);
    fakehost_init(&rig->host, &tacho_plugin_v1);
    (void)snprintf(text, sizeof text, "DOC='%s'; %s",
                   "<?xml version=\"1.0\" ?><!DOCTYPE nvidia_smi_log SYSTEM \"x.dtd\">"
                   "<nvidia_smi_log><driver_version>600.1</driver_version>"
                   "<attached_gpus>1</attached_gpus><gpu id=\"00000000:0A:00.0\">"
                   "<product_name>A GPU</product_name><uuid>GPU-1</uuid>"
                   "<fb_memory_usage><used>7 MiB</used></fb_memory_usage></gpu></nvidia_smi_log>",
                   script);
    rig->argv[0] = "sh";
    rig->argv[1] = "-c";
    rig->argv[2] = text;
    rig->argv[3] = "nvidia-smi";
    rig->options = (struct smi_options){.command = {.items = rig->argv, .count = 4},
                                        .mode = "xml",
                                        .loop = "off",
                                        .timeout_ns = 5 * SMI_NS_PER_S,
                                        .processes = 1,
                                        .proc = "/nonexistent",
                                        .max_output_bytes = 1 << 20};
}

static void rig_open(struct rig *rig)
{
    rig->self = fakehost_open(&rig->host, &rig->options, &rig->err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig->self);
}

static void rig_close(struct rig *rig)
{
    fakehost_close(&rig->host, rig->self);
    fakehost_fini(&rig->host);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static int run_once(struct rig *rig)
{
    rig_open(rig);
    batch_unref(fakehost_collect(&rig->host, rig->self, &rig->result, &rig->err));
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

static void test_one_run(void)
{
    struct rig rig;
    rig_init(&rig,
             "[ \"$*\" = '-q -x' ] && [ \"$LC_ALL\" = C ] && [ \"$(ulimit -n)\" -le 4096 ] && "
             "echo \"$DOC\"");
    rig_open(&rig);
    const struct tacho_batch *batch = fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(fakehost_number(batch, "gpu", 0, "gpu.memory.used"), 7 * 1048576);
    CU_ASSERT_STRING_EQUAL(batch->entities[0].key, "GPU-1");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 0, "pci_bus_id"), "0000:0a:00.0");
    batch_unref(batch);
    rig_close(&rig);
}

static void test_no_program(void)
{
    struct rig rig;
    rig_init(&rig, "");
    rig.argv[0] = "/nonexistent/nvidia-smi";
    rig.self = fakehost_open(&rig.host, &rig.options, &rig.err);
    CU_ASSERT_PTR_NULL(rig.self);
    CU_ASSERT_EQUAL(rig.err.code, TACHO_UNSUPPORTED);
    CU_ASSERT(says(&rig, "there is no /nonexistent/nvidia-smi on this machine"));
    fakehost_fini(&rig.host);
}

static void test_bad_ends(void)
{
    static const struct {
        const char *script, *says;
        int result;
    } cases[] = {
        {"sleep 60", "did not end within", TACHO_RETRY},
        {"trap '' TERM; while :; do sleep 1; done", "did not end within", TACHO_RETRY},
        {"echo garbage; exit 3", "exit code 3 and printed \"garbage\"", TACHO_RETRY},
        {"exit 4", "printed nothing and ended with exit code 4", TACHO_RETRY},
        {"echo '<?xml version=\"1.0\" ?><nvidia_smi_log><gpu>'; kill -SEGV $$", "in the middle",
         TACHO_RETRY},
        {"echo '<nvidia_smi_log><gpu></nvidia_smi_log>'", "cannot read the XML", TACHO_RETRY},
        {"while :; do echo '<nvidia_smi_log>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; done",
         "more than 1048576 bytes", TACHO_RETRY},
        {"echo 'No devices were found'; exit 6", "the driver sees no GPU", TACHO_UNSUPPORTED},
    };
    for (uint32_t i = 0; i < TACHO_COUNT(cases); i++) {
        struct rig rig;
        rig_init(&rig, cases[i].script);
        rig.options.timeout_ns = i < 2 ? SMI_NS_PER_S / 5 : 5 * SMI_NS_PER_S;
        CU_ASSERT_EQUAL(run_once(&rig), cases[i].result);
        CU_ASSERT(says(&rig, cases[i].says));
    }
}

/* A grandchild that holds the pipe open does not hold up the reading, and is ended with the group.
 */
static void test_pipe_held_open(void)
{
    struct rig rig;
    rig_init(&rig, "sleep 60 & echo \"$DOC\"");
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_OK);
}

/* MIG devices get their UUIDs from the list, which is asked for once. */
static void test_mig_uuid(void)
{
    struct rig rig;
    char script[1024];
    (void)snprintf(script, sizeof script,
                   "[ \"$1\" = -L ] && { echo x >>%s/asked; echo 'GPU 0: A (UUID: GPU-1)'; "
                   "echo '  MIG 1g.5gb  Device  4: (UUID: MIG-4)'; exit 0; }; echo \"$DOC\" | "
                   "sed 's|</gpu>|<mig_devices><mig_device><index>4</index></mig_device>"
                   "</mig_devices></gpu>|'",
                   harness_tmpdir());
    rig_init(&rig, script);
    rig_open(&rig);
    for (int i = 0; i < 2; i++) {
        const struct tacho_batch *batch =
            fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err);
        CU_ASSERT_EQUAL(rig.result, TACHO_OK);
        CU_ASSERT_EQUAL_FATAL(fakehost_count(batch, "mig"), 1);
        CU_ASSERT_STRING_EQUAL(batch->entities[1].key, "MIG-4");
        CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "mig", 0, "profile"), "1g.5gb");
        batch_unref(batch);
    }
    struct stat info;
    (void)snprintf(script, sizeof script, "%s/asked", harness_tmpdir());
    CU_ASSERT(stat(script, &info) == 0 && info.st_size == 2);
    rig_close(&rig);
}

/* ---- a program that runs on -------------------------------------------------------------------
 */

static double used(const struct tacho_batch *batch)
{
    return fakehost_number(batch, "gpu", 0, "gpu.memory.used");
}

/* Collects until there is data; how many calls had none is counted. */
static double next_used(struct rig *rig, int *out_empty)
{
    double value = -1;
    for (int i = 0; i < 100 && value < 0; i++) {
        const struct tacho_batch *batch =
            fakehost_collect(&rig->host, rig->self, &rig->result, &rig->err);
        if (rig->result == TACHO_OK) {
            value = used(batch);
        } else {
            CU_ASSERT_EQUAL(rig->result, TACHO_NO_DATA);
            (*out_empty)++;
        }
        batch_unref(batch);
    }
    return value / 1048576;
}

/* Each document once and in order, from one process. */
static void test_loop(void)
{
    struct rig rig;
    int empty = 0;
    rig_init(&rig, "[ \"$*\" = '-q -x -lms 300' ] || exit 9; n=1; while :; do "
                   "echo \"$DOC\" | sed \"s/7 MiB/$n MiB/\"; n=$((n+1)); sleep 0.3; done");
    rig.options.loop = "on";
    rig.host.interval = "300000000";
    rig_open(&rig);
    pid_t first = 0;
    double last = 0;
    for (int i = 0; i < 4; i++) {
        double value = next_used(&rig, &empty);
        CU_ASSERT(value > last);
        last = value;
        const struct smi *smi = rig.self;
        CU_ASSERT(smi->looping.pid != 0 && (first == 0 || smi->looping.pid == first));
        first = smi->looping.pid;
    }
    rig_close(&rig);
}

/* A program that prints one document and then hangs: its values are given once, never again. */
static void test_loop_goes_stale(void)
{
    struct rig rig;
    rig_init(&rig, "echo \"$DOC\"; sleep 60");
    rig.options.loop = "on";
    rig.options.timeout_ns = SMI_NS_PER_S / 2;
    rig.host.interval = "100000000";
    rig_open(&rig);
    batch_unref(fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err));
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    int good = 0;
    bool failed = false;
    for (int i = 0; i < 100 && !failed; i++) {
        memset(&rig.err, 0, sizeof rig.err);
        const struct tacho_batch *batch =
            fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err);
        good += rig.result == TACHO_OK;
        CU_ASSERT_EQUAL(batch->entity_count, 0);
        failed = strstr(rig.err.text, "was ended") != NULL;
        batch_unref(batch);
    }
    CU_ASSERT_EQUAL(good, 0);
    CU_ASSERT(failed);
    rig_close(&rig);
}

/* A program that does not know -l: after two failures it is started for each reading. */
static void test_loop_gives_way(void)
{
    struct rig rig;
    rig_init(&rig, "[ $# = 2 ] || { echo 'ERROR: Option -l is not recognized.'; exit 255; }; "
                   "echo \"$DOC\"");
    rig.options.loop = "auto";
    rig.host.interval = "1000000000";
    rig_open(&rig);
    for (int i = 0; i < 3; i++) {
        memset(&rig.err, 0, sizeof rig.err);
        batch_unref(fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err));
        CU_ASSERT_EQUAL(rig.result, i < 2 ? TACHO_RETRY : TACHO_OK);
    }
    rig_close(&rig);
}

/* Nobody asked for a while: what has waited in the pipe is thrown away with its program. */
static void test_loop_after_a_pause(void)
{
    struct rig rig;
    rig_init(&rig, "echo \"$DOC\"; sleep 0.05; while :; do echo \"$DOC\" | sed 's/7 MiB/8 MiB/'; "
                   "sleep 0.05; done");
    rig.options.loop = "on";
    rig.host.interval = "50000000";
    rig_open(&rig);
    for (int i = 0; i < 2; i++) {
        const struct tacho_batch *batch =
            fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err);
        CU_ASSERT_EQUAL(rig.result, TACHO_OK);
        CU_ASSERT_EQUAL(used(batch), 7 * 1048576); /* of a program that has just begun */
        batch_unref(batch);
        nanosleep(&(struct timespec){.tv_nsec = 400 * SMI_NS_PER_MS}, NULL);
    }
    rig_close(&rig);
}

/* ---- never a second one -----------------------------------------------------------------------
 */

/* A process that cannot be ended is stood in for by one of ours that lives. */
static void test_stuck(void)
{
    struct rig rig;
    rig_init(&rig, "echo \"$DOC\"");
    rig_open(&rig);
    struct smi *smi = rig.self;
    static const char *const argv[] = {"sleep", "60", NULL};
    struct smi_child child;
    CU_ASSERT_EQUAL_FATAL(smi_child_start(&child, "/bin/sleep", argv, &rig.err), TACHO_OK);
    smi->stuck = child.pid;
    batch_unref(fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err));
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    CU_ASSERT(says(&rig, "hangs in the driver and cannot be ended; no other is started"));
    CU_ASSERT_EQUAL(smi->stuck, child.pid);
    (void)smi_child_stop(&child);
    memset(&rig.err, 0, sizeof rig.err);
    batch_unref(fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err));
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(smi->stuck, 0);
    rig_close(&rig);
}

static void *cancel_soon(void *self)
{
    nanosleep(&(struct timespec){.tv_nsec = 100 * SMI_NS_PER_MS}, NULL);
    tacho_plugin_v1.cancel(self);
    return NULL;
}

static void test_cancel(void)
{
    struct rig rig;
    pthread_t thread;
    rig_init(&rig, "sleep 60");
    rig_open(&rig);
    tacho_plugin_v1.cancel(rig.self); /* of a call that is over: not meant for the next */
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, cancel_soon, rig.self), 0);
    int64_t begin_ns = rig.host.table.mono_ns();
    batch_unref(fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err));
    CU_ASSERT(rig.host.table.mono_ns() - begin_ns >= 90 * SMI_NS_PER_MS);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
    CU_ASSERT(says(&rig, "was cut short"));
    rig_close(&rig);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void test_csv(void)
{
    struct rig rig;
    rig_init(
        &rig,
        "case \"$1\" in --help-query-gpu) printf '\"uuid\"\\n\\n\"memory.used\"\\n';; "
        "--query-gpu=memory.used,uuid) printf 'memory.used [MiB], uuid\\n9, GPU-1\\n';; "
        "--query-compute-apps=gpu_uuid,pid,process_name,used_memory) "
        "printf 'gpu_uuid, pid, process_name, used\\nGPU-1, 5, a, b, 3\\n';; "
        "*) echo \"$*\"; exit 2;; esac; [ \"$2\" ] || exit 0; [ \"$2\" = --format=csv,nounits ]");
    rig.options.mode = "csv";
    rig_open(&rig);
    const struct tacho_batch *batch = fakehost_collect(&rig.host, rig.self, &rig.result, &rig.err);
    CU_ASSERT_EQUAL(rig.result, TACHO_OK);
    CU_ASSERT_EQUAL(used(batch), 9 * 1048576);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "command"), "a, b");
    CU_ASSERT_EQUAL(fakehost_number(batch, "gpu", 0, "gpu.memory.unattributed"), 6 * 1048576);
    batch_unref(batch);
    rig_close(&rig);
}

static void test_csv_without_gpu(void)
{
    struct rig rig;
    rig_init(&rig, "[ \"$1\" = --help-query-gpu ] && { echo '\"uuid\"'; exit 0; }; "
                   "echo 'No devices were found'; exit 6");
    rig.options.mode = "csv";
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_UNSUPPORTED);
    CU_ASSERT(says(&rig, "sees no GPU"));
}

const struct test tests[] = {
    {"mig_uuid", test_mig_uuid},
    {"loop", test_loop},
    {"loop_goes_stale", test_loop_goes_stale},
    {"loop_gives_way", test_loop_gives_way},
    {"loop_after_a_pause", test_loop_after_a_pause},
    {"stuck", test_stuck},
    {"cancel", test_cancel},
    {"csv", test_csv},
    {"csv_without_gpu", test_csv_without_gpu},
    {"one_run", test_one_run},
    {"no_program", test_no_program},
    {"bad_ends", test_bad_ends},
    {"pipe_held_open", test_pipe_held_open},
    {NULL, NULL},
};
