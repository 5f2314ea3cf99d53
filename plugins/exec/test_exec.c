/* SPDX-License-Identifier: MIT */
/* Programs under control: whatever a program does, a reading ends in time, nothing is left behind,
 * and what happened is said. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/exec/exec.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct rig {
    struct fakehost host;
    struct exec_options options;
    const char *argv[4];
    void *self;
    struct tacho_err err;
    int result;
};

/* Presets of the option table, with a program that a shell reads. */
static void rig_init(struct rig *rig, const char *mode, const char *script)
{
    memset(rig, 0, sizeof *rig);
    fakehost_init(&rig->host, &tacho_plugin_v1);
    rig->argv[0] = "sh";
    rig->argv[1] = "-c";
    rig->argv[2] = script;
    rig->options = (struct exec_options){.command = {.items = rig->argv, .count = 3},
                                         .mode = mode,
                                         .timeout_ns = 10 * EXEC_NS_PER_S,
                                         .restart_ns = EXEC_NS_PER_S / 100,
                                         .silence_ns = 60 * EXEC_NS_PER_S,
                                         .folder = "",
                                         .max_line_bytes = 1 << 20,
                                         .max_output_bytes = 8 << 20,
                                         .max_rate = 1000};
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
}

static const struct tacho_batch *rig_collect(struct rig *rig)
{
    return fakehost_collect(&rig->host, rig->self, &rig->result, &rig->err);
}

/* One run of a script: its result, and its error in rig->err. */
static int run_once(struct rig *rig)
{
    rig_open(rig);
    batch_unref(rig_collect(rig));
    rig_close(rig);
    return rig->result;
}

static int run_script(struct rig *rig, const char *script)
{
    rig_init(rig, "oneshot", script);
    return run_once(rig);
}

static bool says(const struct rig *rig, const char *expected)
{
    if (!strstr(rig->err.text, expected)) {
        printf("    got \"%s\", expected \"%s\"\n", rig->err.text, expected);
        return false;
    }
    return true;
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * EXEC_NS_PER_MS}, NULL);
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

/* Whether a process that wrote its pid into a file has ended; waits a while for it. */
static bool gone(const char *path)
{
    int pid = 0;
    FILE *in = fopen(path, "r");
    if (!in || fscanf(in, "%d", &pid) != 1) {
        pid = -1;
    }
    if (in) {
        (void)fclose(in);
    }
    for (int i = 0; pid > 0 && i < 500; i++) {
        char stat[64];
        char state = 0;
        (void)snprintf(stat, sizeof stat, "/proc/%d/stat", pid);
        FILE *file = fopen(stat, "r");
        bool there = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
        if (file) {
            (void)fclose(file);
        }
        if (!there || state == 'Z') {
            return true;
        }
        pause_ms(10);
    }
    return false;
}

/* ---- one-shot -------------------------------------------------------------------------------- */

static void test_oneshot(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "echo '{\"a.b\": 1}'; printf '{\"a.c\": 2.5}'");
    rig_open(&rig);
    for (int i = 0; i < 3; i++) {
        const struct tacho_batch *batch = rig_collect(&rig);
        CU_ASSERT_EQUAL(rig.result, TACHO_OK);
        CU_ASSERT_EQUAL(fakehost_number(batch, "host", 0, "a.b"), 1);
        CU_ASSERT_EQUAL(fakehost_number(batch, "host", 0, "a.c"), 2.5);
        batch_unref(batch);
    }
    rig_close(&rig);
}

static void test_environment_and_folder(void)
{
    struct rig rig;
    const char *settings[] = {"TACHO_TEST_COLOUR=red", "HOME=/nowhere"};
    rig_init(&rig, "oneshot", "echo \"{\\\"x.t\\\": \\\"$TACHO_TEST_COLOUR $HOME $(pwd)\\\"}\"");
    rig.options.environment = (struct tacho_strings){.items = settings, .count = 2};
    rig.options.folder = "/usr";
    rig_open(&rig);
    const struct tacho_batch *batch = rig_collect(&rig);
    const struct tacho_value *value = fakehost_find(batch, "host", 0, "x.t");
    CU_ASSERT_PTR_NOT_NULL_FATAL(value);
    CU_ASSERT_STRING_EQUAL(value->as.text, "red /nowhere /usr");
    batch_unref(batch);
    rig_close(&rig);
}

static void test_no_output(void)
{
    struct rig rig;
    CU_ASSERT_EQUAL(run_script(&rig, "true"), TACHO_NO_DATA);
    CU_ASSERT_EQUAL(run_script(&rig, "exec >&- 2>&-; sleep 0.05"), TACHO_NO_DATA);
}

static void test_input_is_empty(void)
{
    struct rig rig;
    CU_ASSERT_EQUAL(run_script(&rig, "cat; echo '{\"a\": 1}'"), TACHO_OK);
}

static void test_failures(void)
{
    struct rig rig;
    CU_ASSERT_EQUAL(run_script(&rig, "echo '{\"a\": 1}'; echo first >&2; echo no disk >&2; exit 3"),
                    TACHO_RETRY);
    CU_ASSERT(says(&rig, "sh ended with exit code 3: no disk"));
    CU_ASSERT_EQUAL(rig.host.log_count, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(rig.host.log, "sh: first\n"));
    CU_ASSERT_EQUAL(run_script(&rig, "kill -SEGV $$"), TACHO_RETRY);
    CU_ASSERT(says(&rig, "sh ended with signal 11 (Segmentation fault)"));
}

static void test_cannot_start(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "");
    rig.argv[0] = "no-such-program-here -v";
    rig.options.command.count = 1;
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_RETRY);
    CU_ASSERT(says(&rig, "cannot start no-such-program-here -v: No such file"));
    CU_ASSERT(says(&rig, "a command with arguments is a list"));
    rig_init(&rig, "oneshot", "true");
    rig.options.folder = "/no/such/folder";
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_RETRY);
    CU_ASSERT(says(&rig, "check the folder"));
}

static void test_bad_lines(void)
{
    struct rig rig;
    CU_ASSERT_EQUAL(run_script(&rig, "echo '{\"a\": 1}'; echo oops; echo; echo '{\"B\": 1}'"),
                    TACHO_PARTIAL);
    CU_ASSERT(says(&rig, "sh: line 2: not JSON"));
    CU_ASSERT(says(&rig, "(and 1 more such)"));
    CU_ASSERT_EQUAL(run_script(&rig, "head -c 300000 /dev/urandom"), TACHO_RETRY);
    CU_ASSERT(says(&rig, "sh: line "));
}

static void test_big_lines(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "printf '{\"a\": \"%0999d\"}\\n' 0; echo '{\"b.b\": 1}'");
    rig.options.max_line_bytes = 100;
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_PARTIAL);
    CU_ASSERT(says(&rig, "line 1: longer than max_line (100 bytes)"));
    rig_init(&rig, "oneshot", "printf '{\"big.text\": \"%0900000d\"}\\n' 0");
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_OK);
}

static void test_endless_output(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "yes '{\"a\": 1}'");
    rig.options.max_output_bytes = 100000;
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_RETRY);
    CU_ASSERT(says(&rig, "printed more than max_output (100000 bytes)"));
    CU_ASSERT_EQUAL(run_script(&rig, "yes | tr -d '\\n' | head -c 20000000"), TACHO_RETRY);
    CU_ASSERT(says(&rig, "printed more than max_output"));
}

/* Ended with what it has started, and in time, even if it does not listen. */
static void test_too_slow(void)
{
    struct rig rig;
    char script[512];
    (void)snprintf(script, sizeof script,
                   "trap '' TERM; sleep 300 & echo $! > %s/slow; while :; do sleep 300; done",
                   harness_tmpdir());
    rig_init(&rig, "oneshot", script);
    rig.options.timeout_ns = EXEC_NS_PER_S / 5;
    CU_ASSERT_EQUAL(run_once(&rig), TACHO_RETRY);
    CU_ASSERT(says(&rig, "sh was not done after 200 ms and was ended; raise timeout"));
    (void)snprintf(script, sizeof script, "%s/slow", harness_tmpdir());
    CU_ASSERT(gone(script));
}

/* A grandchild that keeps the pipe does not keep us. */
static void test_grandchild_holds_the_pipe(void)
{
    struct rig rig;
    char script[512];
    (void)snprintf(script, sizeof script, "sleep 300 & echo $! > %s/grand; echo '{\"a\": 1}'",
                   harness_tmpdir());
    CU_ASSERT_EQUAL(run_script(&rig, script), TACHO_OK);
    (void)snprintf(script, sizeof script, "%s/grand", harness_tmpdir());
    CU_ASSERT(gone(script));
}

static void test_deadline_comes_first(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "sleep 300");
    rig_open(&rig);
    struct tacho_batch *batch = rig.host.table.batch_new(&rig.host.table);
    int64_t deadline = rig.host.table.mono_ns() + EXEC_NS_PER_S / 4;
    CU_ASSERT_EQUAL(tacho_plugin_v1.collect(rig.self, batch, deadline, &rig.err), TACHO_RETRY);
    CU_ASSERT(says(&rig, "raise deadline"));
    batch_discard(batch);
    rig_close(&rig);
}

static void *cancel_soon(void *self)
{
    pause_ms(50);
    tacho_plugin_v1.cancel(self);
    return NULL;
}

static void test_cancel(void)
{
    struct rig rig;
    rig_init(&rig, "oneshot", "sleep 300");
    rig_open(&rig);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, cancel_soon, rig.self);
        batch_unref(rig_collect(&rig));
        pthread_join(thread, NULL);
        CU_ASSERT_EQUAL(rig.result, TACHO_RETRY);
        CU_ASSERT(says(&rig, "cancelled"));
    }
    rig_close(&rig);
}

/* Nothing of ours is open in the program but its three streams. */
static void test_nothing_inherited(void)
{
    struct rig rig;
    int leaky = dup(STDERR_FILENO);
    rig_init(&rig, "oneshot", "set -- /proc/$$/fd/*; echo \"{\\\"fd.n\\\": $#}\"");
    rig_open(&rig);
    const struct tacho_batch *batch = rig_collect(&rig);
    double seen = fakehost_number(batch, "host", 0, "fd.n");
    CU_ASSERT(seen >= 3 && seen <= 4); /* the shell has the folder open while it looks */
    batch_unref(batch);
    rig_close(&rig);
    close(leaky);
}

static void test_no_leaks(void)
{
    struct rig rig;
    int before = count_descriptors();
    for (int i = 0; i < 30; i++) {
        CU_ASSERT_EQUAL(run_script(&rig, "echo '{\"a\": 1}'"), TACHO_OK);
    }
    for (int i = 0; i < 1000; i++) {
        rig_init(&rig, "oneshot", "true");
        rig_open(&rig);
        rig_close(&rig);
    }
    for (int i = 0; i < 20; i++) {
        rig_init(&rig, "stream", "while :; do sleep 1; done");
        rig_open(&rig);
        rig_close(&rig);
    }
    CU_ASSERT_EQUAL(count_descriptors(), before);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1); /* no child, no zombie */
}

static void test_wrong_options(void)
{
    struct rig rig;
    const char *settings[] = {"COLOUR"};
    rig_init(&rig, "oneshot", "true");
    rig.options.environment = (struct tacho_strings){.items = settings, .count = 1};
    CU_ASSERT_PTR_NULL(fakehost_open(&rig.host, &rig.options, &rig.err));
    CU_ASSERT(says(&rig, "environment: \"COLOUR\" is not NAME=VALUE"));
    rig.options.environment.count = 0;
    rig.argv[0] = "";
    CU_ASSERT_PTR_NULL(fakehost_open(&rig.host, &rig.options, &rig.err));
    CU_ASSERT_EQUAL(rig.err.code, TACHO_CONFIG);
    fakehost_fini(&rig.host);
}

/* ---- stream ---------------------------------------------------------------------------------- */

/* Waits until so many batches were emitted. */
static bool emitted(struct rig *rig, uint32_t count)
{
    for (int i = 0; i < 1000 && fakehost_emitted(&rig->host) < count; i++) {
        pause_ms(10);
    }
    return fakehost_emitted(&rig->host) >= count;
}

/* Collects until the result comes, or for ten seconds. */
static bool comes_to(struct rig *rig, int result)
{
    for (int i = 0; i < 1000; i++) {
        batch_unref(rig_collect(rig));
        if (rig->result == result) {
            return true;
        }
        pause_ms(10);
    }
    return false;
}

static void test_stream(void)
{
    struct rig rig;
    rig_init(&rig, "stream", "echo '{\"s.n\": 1}'; echo '{\"s.n\": 2}'; exec sleep 300");
    rig_open(&rig);
    CU_ASSERT_FATAL(emitted(&rig, 2));
    CU_ASSERT_EQUAL(fakehost_number(fakehost_emitted_at(&rig.host, 0), "host", 0, "s.n"), 1);
    CU_ASSERT_EQUAL(fakehost_number(fakehost_emitted_at(&rig.host, 1), "host", 0, "s.n"), 2);
    const struct tacho_batch *batch = rig_collect(&rig);
    CU_ASSERT_EQUAL(rig.result, TACHO_NO_DATA);
    CU_ASSERT_EQUAL(batch->entity_count, 0);
    batch_unref(batch);
    rig_close(&rig);
}

static void test_stream_restarts(void)
{
    struct rig rig;
    rig_init(&rig, "stream", "echo '{\"s.n\": 1}'; echo bye >&2; exit 4");
    rig_open(&rig);
    CU_ASSERT(emitted(&rig, 3));
    CU_ASSERT(comes_to(&rig, TACHO_RETRY));
    CU_ASSERT(says(&rig, "sh ended with exit code 4: bye; it is started again"));
    rig_close(&rig);
}

static void test_stream_cannot_start(void)
{
    struct rig rig;
    rig_init(&rig, "stream", "");
    rig.argv[0] = "/no/such/program";
    rig_open(&rig);
    CU_ASSERT(comes_to(&rig, TACHO_RETRY));
    CU_ASSERT(says(&rig, "cannot start /no/such/program"));
    rig_close(&rig);
}

static void test_stream_silence(void)
{
    struct rig rig;
    rig_init(&rig, "stream", "exec sleep 300");
    rig.options.silence_ns = EXEC_NS_PER_S / 50;
    rig_open(&rig);
    CU_ASSERT(comes_to(&rig, TACHO_RETRY));
    CU_ASSERT(says(&rig, "sh has not printed a line for"));
    rig_close(&rig);
}

static void test_stream_bad_lines(void)
{
    struct rig rig;
    rig_init(&rig, "stream", "echo nonsense; echo '{\"s.n\": 1}'; exec sleep 300");
    rig_open(&rig);
    CU_ASSERT(emitted(&rig, 1));
    CU_ASSERT(comes_to(&rig, TACHO_PARTIAL));
    CU_ASSERT(says(&rig, "sh: line 1: not JSON"));
    CU_ASSERT(says(&rig, "(1 bad lines)"));
    CU_ASSERT(comes_to(&rig, TACHO_NO_DATA));
    rig_close(&rig);
}

static void test_stream_flood(void)
{
    struct rig rig;
    rig_init(&rig, "stream", "exec yes '{\"s.n\": 1}'");
    rig.options.max_rate = 10;
    rig_open(&rig);
    CU_ASSERT(comes_to(&rig, TACHO_PARTIAL));
    CU_ASSERT(says(&rig, "sh prints more than max_rate (10) lines in a second"));
    rig_close(&rig);
    CU_ASSERT(rig.host.emitted_count >= 10);
}

/* Close ends all of it, soon, even if it does not listen. */
static void test_stream_close(void)
{
    struct rig rig;
    char script[512];
    (void)snprintf(script, sizeof script,
                   "trap '' TERM; sleep 300 & echo $! > %s/deaf; echo '{\"s.n\": 1}'; "
                   "while :; do sleep 300; done",
                   harness_tmpdir());
    rig_init(&rig, "stream", script);
    rig_open(&rig);
    CU_ASSERT(emitted(&rig, 1));
    rig_close(&rig);
    (void)snprintf(script, sizeof script, "%s/deaf", harness_tmpdir());
    CU_ASSERT(gone(script));
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- the examples of the README -------------------------------------------------------------- */

/* The nth block of README.md that is fenced as `language`, as an executable file. */
static bool write_example(const char *language, int nth, char *out_path, size_t size)
{
    char line[1024];
    char fence[32];
    bool inside = false;
    (void)snprintf(fence, sizeof fence, "```%s\n", language);
    (void)snprintf(out_path, size, "%s/example-%s-%d", harness_tmpdir(), language, nth);
    FILE *in = fopen(harness_source("plugins/exec/README.md"), "r");
    FILE *out = fopen(out_path, "w");
    CU_ASSERT_FATAL(in && out);
    while (fgets(line, sizeof line, in)) {
        if (!inside && strcmp(line, fence) == 0) {
            inside = nth-- == 0;
        } else if (inside && strcmp(line, "```\n") == 0) {
            break;
        } else if (inside) {
            (void)fputs(line, out);
        }
    }
    (void)fclose(in);
    (void)fclose(out);
    return inside && chmod(out_path, 0700) == 0;
}

static void run_example(const char *language, int nth, const char *mode, const char *metric)
{
    struct rig rig;
    char path[256];
    CU_ASSERT_FATAL(write_example(language, nth, path, sizeof path));
    rig_init(&rig, mode, "");
    rig.argv[0] = path;
    rig.options.command.count = 1;
    rig_open(&rig);
    const struct tacho_batch *batch = rig_collect(&rig);
    const struct tacho_batch *seen = batch;
    if (strcmp(mode, "stream") == 0) {
        CU_ASSERT(emitted(&rig, 1));
        seen = fakehost_emitted_at(&rig.host, 0);
    }
    if (seen && seen->entity_count > 0) {
        CU_ASSERT_PTR_NOT_NULL(fakehost_find(seen, seen->entities[0].kind, 0, metric));
    } else {
        printf("    %s\n", rig.err.text);
        CU_FAIL("nothing came");
    }
    batch_unref(batch);
    rig_close(&rig);
}

static void test_readme_examples(void)
{
    run_example("sh", 0, "oneshot", "files.open");
    run_example("python", 0, "stream", "queue.length");
}

const struct test tests[] = {
    {"oneshot", test_oneshot},
    {"environment_and_folder", test_environment_and_folder},
    {"no_output", test_no_output},
    {"input_is_empty", test_input_is_empty},
    {"failures", test_failures},
    {"cannot_start", test_cannot_start},
    {"bad_lines", test_bad_lines},
    {"big_lines", test_big_lines},
    {"endless_output", test_endless_output},
    {"too_slow", test_too_slow},
    {"grandchild_holds_the_pipe", test_grandchild_holds_the_pipe},
    {"deadline_comes_first", test_deadline_comes_first},
    {"cancel", test_cancel},
    {"nothing_inherited", test_nothing_inherited},
    {"no_leaks", test_no_leaks},
    {"wrong_options", test_wrong_options},
    {"stream", test_stream},
    {"stream_restarts", test_stream_restarts},
    {"stream_cannot_start", test_stream_cannot_start},
    {"stream_silence", test_stream_silence},
    {"stream_bad_lines", test_stream_bad_lines},
    {"stream_flood", test_stream_flood},
    {"stream_close", test_stream_close},
    {"readme_examples", test_readme_examples},
    {NULL, NULL},
};
