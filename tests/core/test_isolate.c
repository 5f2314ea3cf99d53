/* SPDX-License-Identifier: MIT */
/*
 * Plugins in a child process: what crosses the border, and that nothing a child does reaches
 * further than its own calls. The child is this very program, see be_the_child.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/err.h"
#include "core/host.h"
#include "core/isolate.h"
#include "core/metric.h"
#include "tests/harness.h"

/* `tacho isolate FD NAME`, before the harness takes the words for names of tests. */
__attribute__((constructor)) static void be_the_child(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "isolate") == 0) {
        exit(isolate_child_main((int)strtol(argv[2], NULL, 10)));
    }
    /* A child that crashes is to end by its signal under a sanitizer too. */
    setenv("ASAN_OPTIONS", "handle_segv=0", 1);
    setenv("TSAN_OPTIONS", "handle_segv=0", 1);
}

/* ---- an instance, as the engine would make one ----------------------------------------------- */

enum { OPTIONS = 8, EMITTED = 8 };

struct instance {
    struct conf_instance conf;
    struct option_text given[OPTIONS];
    char *values[OPTIONS];
    struct host_services services;
    struct host host;
    const struct tacho_batch *emitted[EMITTED];
    atomic_int emitted_count;
    uint64_t seq;
    void *self;
    struct tacho_err err;
};

static void keep_emitted(void *context, struct tacho_batch *batch)
{
    struct instance *instance = context;
    int at = atomic_load(&instance->emitted_count);
    if (at < EMITTED) {
        instance->emitted[at] = batch;
        atomic_store(&instance->emitted_count, at + 1);
    } else {
        batch_unref(batch);
    }
}

static const struct module *crash_module(void)
{
    const struct module *module = NULL;
    struct tacho_err err = {0};
    char path[4096];
    const char *build = getenv("TACHO_BUILDDIR");
    snprintf(path, sizeof path, "%s/tests/modules/.libs/crash.so", build ? build : ".");
    if (module_load(path, &module, &err) != TACHO_OK) {
        puts(err.text);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    return module;
}

static void give(struct instance *instance, const char *name, const char *value)
{
    uint32_t at = instance->conf.given_count++;
    instance->values[at] = (char *)value;
    instance->given[at] =
        (struct option_text){.name = (char *)name, .values = &instance->values[at], .count = 1};
}

static void instance_init(struct instance *instance, const char *name, const char *behaviour,
                          const char *at)
{
    memset(instance, 0, sizeof *instance);
    instance->conf = (struct conf_instance){.name = (char *)name,
                                            .plugin = (char *)"crash",
                                            .module = crash_module(),
                                            .given = instance->given};
    give(instance, "behaviour", behaviour);
    give(instance, "at", at);
    instance->services = (struct host_services){.fleet = "lab",
                                                .host = "node",
                                                .state_dir = "",
                                                .session = 7,
                                                .on_emit = keep_emitted,
                                                .context = instance};
    CU_ASSERT_EQUAL_FATAL(host_init(&instance->host, &instance->services, name,
                                    instance->conf.module, &instance->err),
                          TACHO_OK);
}

static int instance_open(struct instance *instance)
{
    err_clear(&instance->err);
    return isolate_plugin.open(&instance->host.table, &instance->conf, &instance->self,
                               &instance->err);
}

static void instance_close(struct instance *instance)
{
    isolate_plugin.close(instance->self);
    instance->self = NULL;
}

static void instance_fini(struct instance *instance)
{
    if (instance->self) {
        instance_close(instance);
    }
    for (int i = 0; i < instance->emitted_count; i++) {
        batch_unref(instance->emitted[i]);
    }
    host_fini(&instance->host);
}

/* One collect; the batch comes back sealed. */
static int collect(struct instance *instance, int64_t allowed_ns, const struct tacho_batch **out)
{
    struct tacho_batch *batch = instance->host.table.batch_new(&instance->host.table);
    err_clear(&instance->err);
    int code =
        isolate_plugin.collect(instance->self, batch, clock_mono_ns() + allowed_ns, &instance->err);
    batch_seal(batch, ++instance->seq);
    if (out) {
        *out = batch;
    } else {
        batch_unref(batch);
    }
    return code;
}

static bool said(const struct instance *instance, const char *text)
{
    bool found = strstr(instance->err.text, text) != NULL;
    if (!found) {
        printf("    said '%s', not '%s'\n", instance->err.text, text);
    }
    return found;
}

/* ---- what crosses the border ----------------------------------------------------------------- */

static void test_batches(void)
{
    struct instance instance;
    const struct tacho_batch *batch;
    struct tacho_batch_info info;
    struct tacho_entity entity;
    instance_init(&instance, "plain", "none", "1");
    give(&instance, "entities", "3");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    for (int64_t round = 1; round <= 5; round++) {
        CU_ASSERT_EQUAL_FATAL(collect(&instance, NS_PER_S, &batch), TACHO_OK);
        batch_info(batch, &info);
        CU_ASSERT_STRING_EQUAL(info.host, "node");
        CU_ASSERT_STRING_EQUAL(info.source, "plain");
        CU_ASSERT_EQUAL(info.session, 7);
        CU_ASSERT_EQUAL(info.seq, (uint64_t)round);
        CU_ASSERT_EQUAL_FATAL(info.entity_count, 3);
        batch_entity_at(batch, 2, &entity);
        CU_ASSERT_STRING_EQUAL(entity.key, "crash-2");
        CU_ASSERT_STRING_EQUAL(entity.labels[0].value, "crash-2");
        CU_ASSERT_EQUAL_FATAL(entity.value_count, 2);
        CU_ASSERT_STRING_EQUAL(metric_get(entity.values[0].metric)->desc.name, "crash.collects");
        CU_ASSERT_EQUAL(entity.values[0].as.i64, round);
        batch_unref(batch);
    }
    CU_ASSERT_NOT_EQUAL(isolate_child_pid(instance.self), 0);
    instance_fini(&instance);
}

static void test_huge_batch(void)
{
    struct instance instance;
    const struct tacho_batch *batch;
    struct tacho_batch_info info;
    instance_init(&instance, "huge", "huge", "2");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(collect(&instance, 20 * NS_PER_S, &batch), TACHO_OK);
        batch_info(batch, &info);
        CU_ASSERT_EQUAL(info.entity_count, i == 0 ? 1 : 20001);
        batch_unref(batch);
    }
    instance_fini(&instance);
}

static void test_results(void)
{
    struct instance instance;
    instance_init(&instance, "failing", "fail", "2");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_DEVICE_LOST);
    CU_ASSERT_TRUE(said(&instance, "thing 2 is gone"));
    instance_fini(&instance);
    instance_init(&instance, "failing", "fail", "0");
    CU_ASSERT_EQUAL(instance_open(&instance), TACHO_DEVICE_LOST);
    CU_ASSERT_TRUE(said(&instance, "thing 0 is gone"));
    instance_fini(&instance);
}

static atomic_int log_lines;

static void count_lines(void *context, int level, const char *name, const char *text)
{
    (void)context;
    if (level == TACHO_LOG_WARN && strcmp(name, "talking") == 0 &&
        strncmp(text, "collect ", 8) == 0) {
        atomic_fetch_add(&log_lines, 1);
    }
}

static void test_logs_and_emitted_batches(void)
{
    struct instance instance;
    struct tacho_entity entity;
    log_set_writer(count_lines, NULL);
    instance_init(&instance, "talking", "log", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    collect(&instance, NS_PER_S, NULL);
    collect(&instance, NS_PER_S, NULL);
    CU_ASSERT_EQUAL(log_lines, 2);
    instance_fini(&instance);
    log_set_writer(NULL, NULL);

    instance_init(&instance, "emitting", "emit", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_OK);
    CU_ASSERT_EQUAL_FATAL(instance.emitted_count, 1);
    CU_ASSERT_STRING_EQUAL(instance.emitted[0]->source, "emitting");
    CU_ASSERT_EQUAL(instance.emitted[0]->session, 7);
    CU_ASSERT_TRUE(instance.emitted[0]->flags & TACHO_EVENT);
    batch_entity_at(instance.emitted[0], 0, &entity);
    CU_ASSERT_STRING_EQUAL(entity.key, "crash-0");
    instance_fini(&instance);
}

static void test_commands(void)
{
    struct instance instance;
    struct buf out;
    struct tacho_reply reply = {.out = &out};
    buf_init(&out, 1 << 20);
    instance_init(&instance, "serving", "none", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    CU_ASSERT_EQUAL(isolate_plugin.call(instance.self, "echo", "{\"a\":1}", &reply, &instance.err),
                    TACHO_OK);
    buf_putc(&out, '\0');
    CU_ASSERT_STRING_EQUAL(out.data, "{\"a\":1}");
    CU_ASSERT_EQUAL(isolate_plugin.call(instance.self, "dance", "{}", &reply, &instance.err),
                    TACHO_CONFIG);
    CU_ASSERT_TRUE(said(&instance, "no command 'dance'"));
    buf_fini(&out);
    instance_fini(&instance);
}

/* ---- deaths ---------------------------------------------------------------------------------- */

static const char *marker(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", harness_tmpdir(), name);
    return path;
}

static void touch(const char *path)
{
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void test_crash_and_return(void)
{
    struct instance instance;
    char expected[128];
    const char *path = marker("crashed");
    instance_init(&instance, "crashing", "segfault", "2");
    give(&instance, "unless", path);
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int pid = isolate_child_pid(instance.self);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_FATAL);
    snprintf(expected, sizeof expected, "child %d ended by signal 11 (Segmentation fault)", pid);
    CU_ASSERT_TRUE(said(&instance, expected));
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_FATAL);
    CU_ASSERT_TRUE(said(&instance, expected));
    CU_ASSERT_EQUAL(isolate_child_pid(instance.self), 0);
    CU_ASSERT_EQUAL(isolate_child_exits(instance.self), 1);
    instance_close(&instance);
    touch(path);
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_OK);
    }
    CU_ASSERT_EQUAL(isolate_child_exits(instance.self), 1);
    instance_fini(&instance);
}

static void test_exits(void)
{
    struct instance instance;
    instance_init(&instance, "exiting", "exit", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_FATAL);
    CU_ASSERT_TRUE(said(&instance, "ended with exit code 3"));
    instance_fini(&instance);
    instance_init(&instance, "exiting", "segfault", "0");
    CU_ASSERT_EQUAL(instance_open(&instance), TACHO_FATAL);
    CU_ASSERT_TRUE(said(&instance, "ended by signal 11"));
    instance_fini(&instance);
}

static void test_death_between_calls(void)
{
    struct instance instance;
    instance_init(&instance, "killed", "none", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    kill(isolate_child_pid(instance.self), SIGKILL);
    for (int i = 0; i < 2000 && isolate_child_exits(instance.self) == 0; i++) {
        usleep(5000);
    }
    CU_ASSERT_EQUAL(isolate_child_exits(instance.self), 1);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_FATAL);
    CU_ASSERT_TRUE(said(&instance, "ended by signal 9 (Killed)"));
    instance_fini(&instance);
}

/* How many processes are in a group, ended ones not counted. */
static int group_size(int group)
{
    DIR *proc = opendir("/proc");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[64], state = 0, line[512];
        int its_group = 0;
        snprintf(path, sizeof path, "/proc/%.16s/stat", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file && fgets(line, sizeof line, file) && strrchr(line, ')')) {
            sscanf(strrchr(line, ')') + 1, " %c %*d %d", &state, &its_group);
        }
        if (file) {
            fclose(file);
        }
        count += its_group == group && state != 'Z';
    }
    closedir(proc);
    return count;
}

static void test_leftovers_are_ended(void)
{
    struct instance instance;
    instance_init(&instance, "leaving", "leave", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int pid = isolate_child_pid(instance.self);
    CU_ASSERT_EQUAL(group_size(pid), 1);
    /* Although the leftover holds the socket open, the end is noticed. */
    CU_ASSERT_EQUAL(collect(&instance, 10 * NS_PER_S, NULL), TACHO_FATAL);
    CU_ASSERT_TRUE(said(&instance, "ended with exit code 4"));
    for (int i = 0; i < 2000 && group_size(pid) > 0; i++) {
        usleep(5000);
    }
    CU_ASSERT_EQUAL(group_size(pid), 0);
    instance_fini(&instance);
}

/* ---- children that do not answer ------------------------------------------------------------- */

static void test_stuck_child_is_ended(void)
{
    struct instance instance;
    const char *path = marker("loop");
    instance_init(&instance, "looping", "loop", "1");
    give(&instance, "unless", path);
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int pid = isolate_child_pid(instance.self);
    CU_ASSERT_EQUAL(collect(&instance, 50 * NS_PER_MS, NULL), TACHO_FATAL);
    CU_ASSERT_TRUE(said(&instance, "did not answer 'collect'"));
    instance_close(&instance);
    CU_ASSERT_EQUAL(kill(pid, 0), -1);
    CU_ASSERT_EQUAL(waitpid(pid, NULL, WNOHANG), -1);
    touch(path);
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_OK);
    instance_fini(&instance);
}

static void test_abandoned_child(void)
{
    struct instance instance;
    char expected[64];
    const char *path = marker("stubborn");
    instance_init(&instance, "stubborn", "stubborn", "1");
    give(&instance, "unless", path);
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int pid = isolate_child_pid(instance.self);
    CU_ASSERT_EQUAL(collect(&instance, 50 * NS_PER_MS, NULL), TACHO_FATAL);
    instance_close(&instance);
    snprintf(expected, sizeof expected, "child %d of the last start is still alive", pid);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(instance_open(&instance), TACHO_RETRY);
        CU_ASSERT_TRUE(said(&instance, expected));
        instance.self = NULL;
    }
    CU_ASSERT_EQUAL(kill(pid, 0), 0);
    touch(path); /* it comes to its senses, ends by itself and is reaped */
    int code = TACHO_RETRY;
    for (int i = 0; i < 2000 && code == TACHO_RETRY; i++) {
        usleep(5000);
        code = instance_open(&instance);
    }
    CU_ASSERT_EQUAL_FATAL(code, TACHO_OK);
    CU_ASSERT_EQUAL(collect(&instance, NS_PER_S, NULL), TACHO_OK);
    instance_fini(&instance);
}

static void test_kill_where_allowed(void)
{
    struct instance instance;
    instance_init(&instance, "killable", "stubborn", "1");
    instance.conf.kill = true;
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int pid = isolate_child_pid(instance.self);
    CU_ASSERT_EQUAL(collect(&instance, 50 * NS_PER_MS, NULL), TACHO_FATAL);
    instance_close(&instance);
    CU_ASSERT_EQUAL(kill(pid, 0), -1);
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    instance_fini(&instance);
}

static void *cancel_soon(void *argument)
{
    usleep(50000);
    isolate_plugin.cancel(argument);
    return NULL;
}

static void test_cancel(void)
{
    struct instance instance;
    pthread_t thread;
    instance_init(&instance, "sleeping", "sleep", "1");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int pid = isolate_child_pid(instance.self);
    pthread_create(&thread, NULL, cancel_soon, instance.self);
    CU_ASSERT_EQUAL(collect(&instance, 60 * NS_PER_S, NULL), TACHO_RETRY);
    CU_ASSERT_TRUE(said(&instance, "cancelled"));
    pthread_join(thread, NULL);
    /* At its deadline a call is cancelled without being asked, and the child lives on. */
    CU_ASSERT_EQUAL(collect(&instance, 300 * NS_PER_MS, NULL), TACHO_RETRY);
    CU_ASSERT_EQUAL(isolate_child_pid(instance.self), pid);
    CU_ASSERT_EQUAL(isolate_child_exits(instance.self), 0);
    instance_fini(&instance);
}

/* ---- nothing stays behind -------------------------------------------------------------------- */

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;
    while (readdir(folder)) {
        count++;
    }
    closedir(folder);
    return count;
}

static void test_descriptors_stay_flat(void)
{
    static const char *const behaviours[] = {"none", "exit", "leave"};
    int before = 0;
    for (int round = 0; round < 12; round++) {
        struct instance instance;
        instance_init(&instance, "often", behaviours[round % 3], "1");
        CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
        collect(&instance, NS_PER_S, NULL);
        instance_fini(&instance);
        if (round == 2) {
            before = count_entries("/proc/self/fd");
        }
    }
    int after = count_entries("/proc/self/fd");
    for (int i = 0; i < 1000 && after > before; i++) {
        usleep(5000); /* the keepers of the last rounds may still be at work */
        after = count_entries("/proc/self/fd");
    }
    CU_ASSERT_TRUE(after <= before);
    CU_ASSERT_EQUAL(waitpid(-1, NULL, WNOHANG), -1);
    CU_ASSERT_EQUAL(errno, ECHILD);
}

/* Says what the border costs; judges nothing. */
static void test_cost(void)
{
    enum { ROUNDS = 2000 };
    struct instance instance;
    instance_init(&instance, "timed", "none", "1");
    give(&instance, "entities", "8");
    CU_ASSERT_EQUAL_FATAL(instance_open(&instance), TACHO_OK);
    int good = 0;
    int64_t begin_ns = clock_mono_ns();
    for (int i = 0; i < ROUNDS; i++) {
        good += collect(&instance, 10 * NS_PER_S, NULL) == TACHO_OK;
    }
    int64_t spent_ns = clock_mono_ns() - begin_ns;
    CU_ASSERT_EQUAL(good, ROUNDS);
    printf("    %.1f us for one collect across the border\n",
           (double)spent_ns / ROUNDS / (double)NS_PER_US);
    instance_fini(&instance);
}

const struct test tests[] = {
    {"batches", test_batches},
    {"huge_batch", test_huge_batch},
    {"results", test_results},
    {"logs_and_emitted_batches", test_logs_and_emitted_batches},
    {"commands", test_commands},
    {"crash_and_return", test_crash_and_return},
    {"exits", test_exits},
    {"death_between_calls", test_death_between_calls},
    {"leftovers_are_ended", test_leftovers_are_ended},
    {"stuck_child_is_ended", test_stuck_child_is_ended},
    {"abandoned_child", test_abandoned_child},
    {"kill_where_allowed", test_kill_where_allowed},
    {"cancel", test_cancel},
    {"descriptors_stay_flat", test_descriptors_stay_flat},
    {"cost", test_cost},
    {NULL, NULL},
};
