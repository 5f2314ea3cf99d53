/* SPDX-License-Identifier: MIT */
/* Modules: files that are found, refused and copied by size; tables that make no sense. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/module_private.h"
#include "tests/harness.h"

static const char *built(const char *name)
{
    static char path[512];
    const char *build = getenv("TACHO_BUILDDIR");
    snprintf(path, sizeof path, "%s/tests/modules/.libs/%s.so", build ? build : ".", name);
    return path;
}

/* Loads a path that must be refused; the sentence. */
static const char *refused(const char *path)
{
    static struct tacho_err err;
    const struct module *module = NULL;
    err = (struct tacho_err){0};
    CU_ASSERT_EQUAL(module_load(path, &module, &err), TACHO_CONFIG);
    CU_ASSERT_PTR_NULL(module);
    return err.text;
}

static void test_by_name_and_path(void)
{
    const struct module *module = NULL, *again = NULL;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(module_load("options", &module, &err), TACHO_OK);
    CU_ASSERT_EQUAL(module_load(built("options"), &again, &err), TACHO_OK);
    CU_ASSERT_PTR_EQUAL(module, again);
    CU_ASSERT_STRING_EQUAL(module->plugin.name, "options");
    CU_ASSERT_EQUAL(module->plugin.option_count, 12);
    CU_ASSERT_STRING_EQUAL(module->options[11].name, "skip");
    CU_ASSERT_STRING_EQUAL(module->metrics[1].name, "options.things");
    CU_ASSERT_STRING_EQUAL(module->commands[0].name, "say");
    CU_ASSERT_PTR_NULL(module->plugin.cancel);
    CU_ASSERT_PTR_NOT_NULL(strstr(refused("nothing"), "there is no plugin \"nothing\" in "));
    CU_ASSERT_PTR_NOT_NULL(strstr(refused("Not A Name"), "there is no plugin"));
    CU_ASSERT_PTR_NOT_NULL(strstr(refused("./nothing.so"), "cannot open the plugin"));
}

static void count_options(void *context, const char *name, const char *path)
{
    CU_ASSERT_PTR_NOT_NULL(strstr(path, ".so"));
    *(int *)context += strcmp(name, "options") == 0;
}

static void test_list(void)
{
    int found = 0;
    module_list(count_options, &found);
    CU_ASSERT_EQUAL(found, 1);
}

/* A copy of tick.so in a fresh folder, with `length` bytes of its struct replaced. */
static const char *copy(const char *name, size_t at, const void *bytes, size_t length)
{
    static char path[512];
    static char data[1 << 20];
    const uint32_t size = sizeof(struct tacho_plugin);
    const uint16_t version[2] = {TACHO_ABI_MAJOR, TACHO_ABI_MINOR};
    char head[8];
    memcpy(head, &size, 4);
    memcpy(head + 4, version, 4);
    FILE *in = fopen(built("tick"), "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    size_t total = fread(data, 1, sizeof data, in);
    fclose(in);
    char *place = memmem(data, total, head, sizeof head);
    CU_ASSERT_PTR_NOT_NULL_FATAL(place);
    if (length > 0) {
        memcpy(place + at, bytes, length);
    }
    snprintf(path, sizeof path, "%s/%s.so", harness_tmpdir(), name);
    FILE *out = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(fwrite(data, 1, total, out), total);
    fclose(out);
    chmod(path, 0644);
    return path;
}

static void test_header(void)
{
    const uint16_t major = 2;
    CU_ASSERT_PTR_NOT_NULL(
        strstr(refused(copy("other", 4, &major, 2)), "speaks version 2 of the plugin ABI"));
    const uint32_t large = sizeof(struct tacho_plugin) + 8, small = 16;
    CU_ASSERT_PTR_NOT_NULL(strstr(refused(copy("large", 0, &large, 4)), "says that it has"));
    CU_ASSERT_PTR_NOT_NULL(strstr(refused(copy("small", 0, &small, 4)), "says that it has"));

    /* An older plugin, from before `consume`: what lies beyond its size is absent. */
    const uint32_t older = offsetof(struct tacho_plugin, consume);
    const struct module *module = NULL;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(module_load(copy("older", 0, &older, 4), &module, &err), TACHO_OK);
    CU_ASSERT_PTR_NOT_NULL(module->plugin.collect);
    CU_ASSERT_PTR_NULL(module->plugin.consume);
    CU_ASSERT_EQUAL(module->plugin.struct_size, older);
}

static void test_trust(void)
{
    const char *path = copy("loose", 0, NULL, 0);
    chmod(path, 0664);
    CU_ASSERT_PTR_NOT_NULL(strstr(refused(path), "may be written by others (mode 0664)"));
    chmod(path, 0644);
    chmod(harness_tmpdir(), 01777);
    CU_ASSERT_PTR_NOT_NULL(strstr(refused(path), "plugin folder"));
    chmod(harness_tmpdir(), 0700);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(chown(path, 12345, 12345), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(refused(path), "belongs to user 12345"));
        CU_ASSERT_EQUAL(chown(path, 0, 0), 0);
    }
    const struct module *module = NULL;
    CU_ASSERT_EQUAL(module_load(path, &module, NULL), TACHO_OK);
}

static void test_no_plugin(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/text.so", harness_tmpdir());
    FILE *out = fopen(path, "w");
    fputs("text\n", out);
    fclose(out);
    CU_ASSERT_PTR_NOT_NULL(strstr(refused(path), "the system cannot load it"));

    /* By its file's name it is one plugin, by its own another. */
    setenv("TACHO_PLUGIN_PATH", harness_tmpdir(), 1);
    copy("renamed", 0, NULL, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(refused("renamed"), "calls itself \"tick\""));
    unsetenv("TACHO_PLUGIN_PATH");
}

/* A module that is right, for spoiling one thing after another. */
struct spoiled {
    struct tacho_option options[2];
    struct tacho_metric metrics[2];
    struct tacho_command commands[2];
    struct module module;
};

static void make_right(struct spoiled *out)
{
    const struct module *loaded = NULL;
    CU_ASSERT_EQUAL_FATAL(module_load("options", &loaded, NULL), TACHO_OK);
    *out = (struct spoiled){
        .options = {{"one", TACHO_INT, 0, 0, "1", 0, 0, NULL, ""},
                    {"two", TACHO_INT, 0, 8, "1", 0, 0, NULL, ""}},
        .metrics = {{"gpu.power", "watts", TACHO_GAUGE, NULL, ""},
                    {"own.thing", "", TACHO_COUNTER, NULL, ""}},
        .commands = {{"say", "", ""}, {"ask", "", ""}},
        .module = *loaded,
    };
    out->module.plugin.options_size = 16;
    out->module.plugin.option_count = 2;
    out->module.plugin.metric_count = 2;
    out->module.plugin.command_count = 2;
    out->module.options = out->options;
    out->module.metrics = out->metrics;
    out->module.commands = out->commands;
}

static void expect(const struct spoiled *spoiled, const char *problem)
{
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(module_check(&spoiled->module, &err), TACHO_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, problem));
    if (!strstr(err.text, problem)) {
        printf("expected \"%s\", got \"%s\"\n", problem, err.text);
    }
}

/* Spoils a fresh module by one statement and expects the problem. */
#define SPOIL(statement, problem) \
    do {                          \
        struct spoiled s;         \
        make_right(&s);           \
        statement;                \
        expect(&s, problem);      \
    } while (0)

static void test_plugin_struct(void)
{
    struct spoiled right;
    make_right(&right);
    CU_ASSERT_EQUAL(module_check(&right.module, NULL), TACHO_OK);
    SPOIL(s.module.plugin.name = NULL, "its name is \"\"");
    SPOIL(s.module.plugin.name = "Bad", "its name is \"Bad\"");
    SPOIL(s.module.plugin.open = NULL, "lacks the function `open`");
    SPOIL(s.module.plugin.close = NULL, "lacks the function `close`");
    SPOIL((s.module.plugin.collect = NULL, s.module.plugin.consume = NULL,
           s.module.plugin.call = NULL),
          "has no role");
    SPOIL(s.module.plugin.call = NULL, "commands but no function `call`");
}

static void test_tables(void)
{
    SPOIL(s.options[1].name = "Two", "option 1 has the name \"Two\"");
    SPOIL(s.options[1].name = NULL, "option 1 has the name \"\"");
    SPOIL(s.options[1].name = "one", "option \"one\" is in the table twice");
    SPOIL(s.options[1].name = "interval", "name of a key that every instance has");
    SPOIL(s.options[1].type = 99, "unknown type 99");
    SPOIL(s.options[1].offset = 4, "take its offset with offsetof");
    SPOIL(s.options[1].offset = 16, "take its offset with offsetof");
    SPOIL(s.options[1].offset = 0xfffffff8, "take its offset with offsetof");
    SPOIL(s.options[1].offset = 0, "lie over each other");
    SPOIL(s.options[1].type = TACHO_CHOICE, "a choice without choices");
    SPOIL(s.options[1].flags = TACHO_SECRET, "is a secret, so it must be a TACHO_STRING");
    SPOIL(s.metrics[1].name = "Own", "metric 1 has the name \"Own\"");
    SPOIL(s.metrics[1].name = "gpu.power", "catalogue");
    SPOIL(s.metrics[0].unit = "bytes", "in the catalogue, not a gauge in \"bytes\"");
    SPOIL(s.metrics[1].kind = 0, "needs a unit");
    SPOIL(s.metrics[0] = s.metrics[1], "is in the table twice");
    SPOIL(s.commands[1].name = "Ask me", "command 1 has the name");
    SPOIL(s.commands[1].name = "say", "command \"say\" is in the table twice");
}

static void *load_often(void *context)
{
    (void)context;
    const struct module *module = NULL;
    for (int i = 0; i < 200; i++) {
        if (module_load(i % 2 ? "drain" : "clerk", &module, NULL) != TACHO_OK) {
            return NULL;
        }
    }
    return (void *)module;
}

static void test_threads(void)
{
    pthread_t threads[4];
    void *modules[4];
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, load_often, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &modules[i]);
        CU_ASSERT_PTR_NOT_NULL(modules[i]);
        CU_ASSERT_PTR_EQUAL(modules[i], modules[0]);
    }
}

const struct test tests[] = {
    {"by_name_and_path", test_by_name_and_path},
    {"list", test_list},
    {"header", test_header},
    {"trust", test_trust},
    {"no_plugin", test_no_plugin},
    {"plugin_struct", test_plugin_struct},
    {"tables", test_tables},
    {"threads", test_threads},
    {NULL, NULL},
};
