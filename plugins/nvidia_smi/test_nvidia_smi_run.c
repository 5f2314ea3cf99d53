/* SPDX-License-Identifier: MIT */
/* nvidia-smi under control: whatever the program does, a reading ends in time, nothing is left
 * behind, and what happened is said. */
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

const struct test tests[] = {
    {"one_run", test_one_run},
    {"no_program", test_no_program},
    {"bad_ends", test_bad_ends},
    {"pipe_held_open", test_pipe_held_open},
    {NULL, NULL},
};
