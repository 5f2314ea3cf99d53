/* SPDX-License-Identifier: MIT */
/* Configurations: what instances come to, hashes that a reload compares, secrets, memory. What is
 * said about broken files is compared by tests/e2e/conf.sh. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/conf.h"
#include "tests/harness.h"

static const char *write_file(const char *name, const char *text)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", harness_tmpdir(), name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static struct conf *load(const char *text)
{
    struct conf *conf = NULL;
    struct conf_problems problems;
    if (conf_load(write_file("test.conf", text), CONF_FULL, &conf, &problems) != TACHO_OK) {
        for (uint32_t i = 0; i < problems.count; i++) {
            char line[512];
            conf_problem_print(&problems.items[i], line, sizeof line);
            puts(line);
        }
    }
    CU_ASSERT_EQUAL(problems.count, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    conf_problems_free(&problems);
    return conf;
}

/* The first problem of a text that has one. */
static const char *problem(const char *text, int mode)
{
    static char line[512];
    struct conf *conf = NULL;
    struct conf_problems problems;
    CU_ASSERT_EQUAL(conf_load(write_file("test.conf", text), mode, &conf, &problems), TACHO_CONFIG);
    CU_ASSERT_PTR_NULL(conf);
    CU_ASSERT_FATAL(problems.count > 0);
    conf_problem_print(&problems.items[0], line, sizeof line);
    conf_problems_free(&problems);
    return line;
}

struct own_options { /* as in tests/modules/options.c, as far as it is read here */
    int32_t flag;
    int64_t count;
    double ratio;
};

static void test_instance(void)
{
    struct conf *conf = load("fleet = \"lab\"; log_level = \"debug\"; self = { interval = 2; };\n"
                             "providers = ( { plugin = \"options\"; name = \"a\"; target = \"x\";\n"
                             "  count = 7; ratio = 1; interval = \"250ms\"; phase = \"50ms\";\n"
                             "  chain = \"gpu\"; isolate = true; kill = true; } );\n"
                             "sinks = ( { plugin = \"drain\"; queue = 3; overflow = \"block\";\n"
                             "  filter = ( \"a*\", \"!ab\" ); } );\n");
    CU_ASSERT_STRING_EQUAL(conf->fleet, "lab");
    CU_ASSERT_EQUAL(conf->log_level, TACHO_LOG_DEBUG);
    CU_ASSERT_TRUE(conf->self);
    CU_ASSERT_EQUAL(conf->self_interval_ns, 2000000000);
    CU_ASSERT_EQUAL_FATAL(conf->instance_count, 2);
    const struct conf_instance *one = conf->instances[0], *two = conf->instances[1];
    CU_ASSERT_EQUAL(one->role, CONF_PROVIDER);
    CU_ASSERT_STRING_EQUAL(one->name, "a");
    CU_ASSERT_EQUAL(one->line, 2);
    CU_ASSERT_EQUAL(one->interval_ns, 250000000);
    CU_ASSERT_EQUAL(one->phase_ns, 50000000);
    CU_ASSERT_EQUAL(one->deadline_ns, 250000000);
    CU_ASSERT_TRUE(one->isolate && one->kill);
    CU_ASSERT_STRING_EQUAL(one->chain, "gpu");
    CU_ASSERT_EQUAL(one->given_count, 3);
    const struct own_options *options = one->options;
    CU_ASSERT_EQUAL(options->flag, 1);
    CU_ASSERT_EQUAL(options->count, 7);
    CU_ASSERT_EQUAL(options->ratio, 1.0);
    CU_ASSERT_EQUAL(two->role, CONF_SINK);
    CU_ASSERT_STRING_EQUAL(two->name, "drain");
    CU_ASSERT_EQUAL(two->queue, 3);
    CU_ASSERT_EQUAL(two->overflow, CONF_BLOCK);
    CU_ASSERT_EQUAL(two->filter_count, 2);
    CU_ASSERT_STRING_EQUAL(two->filter[1], "!ab");
    conf_free(conf);
}

static void test_deadline(void)
{
    struct conf *conf = load("providers = ( { plugin = \"tick\"; interval = \"10ms\"; },\n"
                             "  { plugin = \"tick\"; name = \"slow\"; interval = \"1m\"; },\n"
                             "  { plugin = \"tick\"; name = \"own\"; deadline = \"3s\"; } );\n");
    CU_ASSERT_EQUAL(conf->instances[0]->deadline_ns, 100000000);
    CU_ASSERT_EQUAL(conf->instances[1]->deadline_ns, 10000000000);
    CU_ASSERT_EQUAL(conf->instances[2]->deadline_ns, 3000000000);
    conf_free(conf);
}

static void test_host(void)
{
    struct conf *conf = load("host = \"auto\";");
    char name[65] = "";
    gethostname(name, sizeof name - 1);
    CU_ASSERT_EQUAL(strncasecmp(conf->host, name, strcspn(name, ".") > 8 ? 8 : strcspn(name, ".")),
                    0);
    CU_ASSERT_EQUAL(strspn(conf->host, "abcdefghijklmnopqrstuvwxyz0123456789_-"),
                    strlen(conf->host));
    conf_free(conf);
}

/* Loads a text and gives the hash of the whole and of its first instance. */
static uint64_t hash_of(const char *text, uint64_t *out_first)
{
    struct conf *conf = load(text);
    uint64_t hash = conf->hash;
    if (out_first) {
        *out_first = conf->instances[0]->hash;
    }
    conf_free(conf);
    return hash;
}

static void test_hash(void)
{
    static const char base[] =
        "providers = ( { plugin = \"options\"; target = \"x\"; count = 5; } );";
    static const char same[] = "/* a comment */\n\nproviders =\n(\n  { count = 5; # here\n"
                               " target = \"x\"; plugin = \"options\"; }\n);\n";
    static const char *const other[] = {
        "providers = ( { plugin = \"options\"; target = \"y\"; count = 5; } );",
        "providers = ( { plugin = \"options\"; target = \"x\"; count = 6; } );",
        "providers = ( { plugin = \"options\"; target = \"x\"; } );",
        "providers = ( { plugin = \"options\"; target = \"x\"; count = 5; interval = 2; } );",
        "providers = ( { plugin = \"options\"; target = \"x\"; count = 5; kill = true; } );",
        "providers = ( { plugin = \"options\"; target = \"x\"; count = 5; name = \"n\"; } );",
        "providers = ( { plugin = \"options\"; target = \"x\"; count = 5; chain = \"n\"; } );",
        "sinks = ( { plugin = \"options\"; target = \"x\"; count = 5; } );",
    };
    uint64_t first, again;
    uint64_t hash = hash_of(base, &first);
    CU_ASSERT_EQUAL(hash, hash_of(base, &again));
    CU_ASSERT_EQUAL(first, again);
    CU_ASSERT_EQUAL(hash, hash_of(same, &again));
    CU_ASSERT_EQUAL(first, again);
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        CU_ASSERT_NOT_EQUAL(hash, hash_of(other[i], &again));
        CU_ASSERT_NOT_EQUAL(first, again);
    }
    /* Another key of the top leaves the instances alone. */
    char text[256];
    snprintf(text, sizeof text, "fleet = \"lab\"; %s", base);
    CU_ASSERT_NOT_EQUAL(hash, hash_of(text, &again));
    CU_ASSERT_EQUAL(first, again);
}

static void test_secret(void)
{
    const char *secret = write_file("token", "hunter2\n");
    char text[512];
    snprintf(text, sizeof text,
             "providers = ( { plugin = \"options\"; target = \"x\"; token_file = \"%s\"; } );",
             secret);
    chmod(secret, 0644);
    CU_ASSERT_PTR_NOT_NULL(strstr(problem(text, CONF_FULL), "may be read by others (mode 0644)"));
    chmod(secret, 0600);
    struct conf *conf = load(text);
    uint64_t hash = conf->hash;
    for (uint32_t i = 0; i < conf->value_count; i++) {
        CU_ASSERT_PTR_NULL(strstr(conf->values[i].text, "token"));
    }
    conf_free(conf);
    /* A new secret in the same place is a change. */
    unlink(secret);
    write_file("token", "hunter3 and more\n");
    chmod(secret, 0600);
    CU_ASSERT_NOT_EQUAL(hash, hash_of(text, NULL));
    unlink(secret);
    CU_ASSERT_PTR_NOT_NULL(strstr(problem(text, CONF_FULL), "the secret file cannot be read"));
    conf = NULL;
    struct conf_problems problems;
    CU_ASSERT_EQUAL(conf_load(write_file("test.conf", text), CONF_OFFLINE, &conf, &problems),
                    TACHO_OK);
    conf_problems_free(&problems);
    conf_free(conf);
}

static void test_files(void)
{
    struct conf *conf = NULL;
    struct conf_problems problems;
    char line[512], path[256];
    CU_ASSERT_EQUAL(conf_load("/nowhere/x.conf", CONF_FULL, &conf, &problems), TACHO_CONFIG);
    CU_ASSERT_EQUAL_FATAL(problems.count, 1);
    conf_problem_print(&problems.items[0], line, sizeof line);
    CU_ASSERT_STRING_EQUAL(line,
                           "/nowhere/x.conf: cannot read this file: No such file or directory");
    conf_problems_free(&problems);

    CU_ASSERT_EQUAL(conf_load(harness_tmpdir(), CONF_FULL, &conf, &problems), TACHO_CONFIG);
    conf_problem_print(&problems.items[0], line, sizeof line);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "it is not a regular file"));
    conf_problems_free(&problems);

    snprintf(path, sizeof path, "%s/fifo.conf", harness_tmpdir());
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(conf_load(path, CONF_FULL, &conf, &problems), TACHO_CONFIG);
    conf_problems_free(&problems);
    CU_ASSERT_PTR_NULL(conf);
    conf_free(NULL);
}

static void test_places(void)
{
    setenv("TACHO_CONFIG", "/x/y.conf", 1);
    CU_ASSERT_STRING_EQUAL(conf_default_path(), "/x/y.conf");
    unsetenv("TACHO_CONFIG");
    CU_ASSERT_PTR_NOT_NULL(strstr(conf_default_path(), "/tacho/tacho.conf"));
    unsetenv("TACHO_CONTROL");
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    CU_ASSERT_STRING_EQUAL(conf_default_control(), "/run/user/7/tacho.sock");
    setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
    CU_ASSERT_PTR_NULL(strstr(conf_default_control(), "/run/user/0"));
    unsetenv("XDG_RUNTIME_DIR");
    char own[64];
    snprintf(own, sizeof own, "/tmp/tacho-%u/control.sock", (unsigned)geteuid());
    CU_ASSERT_STRING_EQUAL(conf_default_control(),
                           geteuid() == 0 ? "/run/tacho/control.sock" : own);
    setenv("TACHO_CONTROL", "/c", 1);
    CU_ASSERT_STRING_EQUAL(conf_default_control(), "/c");
    unsetenv("TACHO_CONTROL");
}

const struct test tests[] = {
    {"instance", test_instance}, {"deadline", test_deadline},
    {"host", test_host},         {"hash", test_hash},
    {"secret", test_secret},     {"files", test_files},
    {"places", test_places},     {NULL, NULL},
};
