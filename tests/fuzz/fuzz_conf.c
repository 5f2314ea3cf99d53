/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the configuration: any bytes are either good or have problems that say where and what, and
 * what is good is the same when it is read again. Plugins are found as always; TACHO_PLUGIN_PATH
 * with tests/modules/.libs lets it reach their options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets the string before a syntax error. */
const char *__lsan_default_suppressions(void)
{
    return "leak:strbuf_append\nleak:libconfig_yylex\n";
}

static struct conf *load(const char *path)
{
    struct conf *conf = NULL;
    struct conf_problems problems;
    int result = conf_load(path, CONF_OFFLINE, &conf, &problems);
    if ((result == TACHO_OK) != (conf != NULL) || (result == TACHO_OK) != (problems.count == 0)) {
        abort();
    }
    for (uint32_t i = 0; i < problems.count; i++) {
        const struct conf_problem *problem = &problems.items[i];
        char line[256];
        if (!problem->file[0] || !problem->problem[0] || problem->line < 0) {
            abort();
        }
        conf_problem_print(problem, line, sizeof line);
    }
    conf_problems_free(&problems);
    return conf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[32];
    int fd = memfd_create("conf", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    struct conf *conf = load(path);
    if (conf) {
        struct conf *again = load(path);
        if (!again || again->hash != conf->hash || again->value_count != conf->value_count) {
            abort();
        }
        conf_free(again);
    }
    conf_free(conf);
    close(fd);
    return 0;
}
