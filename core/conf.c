/* SPDX-License-Identifier: MIT */
/* Loading a configuration: runs the steps that conf_private.h lists and owns the memory. The whole
 * configuration is one arena; only the plugins' option structs are beside it. */
#include "core/conf_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONF_LIMIT_BYTES = 64 << 20 };

struct conf_box {
    struct conf conf; /* first: what conf_load hands out */
    struct arena arena;
};

char *conf_keep(struct reader *reader, const char *text)
{
    static char empty[1];
    char *copy = arena_text(reader->arena, text);
    if (!copy) {
        reader->no_memory = true;
        return empty;
    }
    return copy;
}

char *conf_keepf(struct reader *reader, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    char *copy = conf_keep(reader, length < 0 ? "" : text);
    if (length < 0) {
        reader->no_memory = true;
        return copy;
    }
    free(text);
    return copy;
}

void *conf_alloc(struct reader *reader, size_t bytes)
{
    void *memory = arena_alloc(reader->arena, bytes);
    if (!memory) {
        reader->no_memory = true;
        return NULL;
    }
    return memset(memory, 0, bytes);
}

static void load(struct reader *reader, const char *path)
{
    reader->conf->path = conf_keep(reader, path);
    conf_read_files(reader, reader->conf->path);
    conf_read_environment(reader);
    conf_read_top(reader);
    conf_read_instances(reader);
    if (reader->no_memory) {
        conf_problem(reader, path, 0, "", "there is not enough memory to read it");
    }
    conf_problems_sort(reader);
}

int conf_load(const char *path, int mode, struct conf **out, struct conf_problems *problems)
{
    *out = NULL;
    *problems = (struct conf_problems){0};
    struct conf_box *box = calloc(1, sizeof *box);
    struct reader *reader = calloc(1, sizeof *reader);
    if (!box || !reader) {
        free(box);
        free(reader);
        return TACHO_CONFIG;
    }
    arena_init(&box->arena, CONF_LIMIT_BYTES);
    reader->mode = mode;
    reader->conf = &box->conf;
    reader->arena = &box->arena;
    reader->problems = problems;
    reader->forced = "";
    load(reader, path);
    free(reader);
    if (problems->count > 0) {
        conf_free(&box->conf);
        return TACHO_CONFIG;
    }
    conf_hash(&box->conf);
    *out = &box->conf;
    return TACHO_OK;
}

void conf_free(struct conf *conf)
{
    if (!conf) {
        return;
    }
    struct conf_box *box = (struct conf_box *)conf;
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        option_free(conf->instances[i]->module, conf->instances[i]->options);
    }
    arena_fini(&box->arena);
    free(box);
}

const char *conf_default_path(void)
{
    const char *path = getenv("TACHO_CONFIG");
    return path && *path ? path : SYSCONFDIR "/tacho/tacho.conf";
}

/* The folder that a login of root gets. A socket there would hide the one of the system's daemon.
 */
#define ROOT_SESSION "/run/user/0"

/* In /tmp anybody may have made it before us. */
static bool is_own_folder(const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return errno == ENOENT;
    }
    return S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & (S_IWGRP | S_IWOTH));
}

const char *conf_default_control(void)
{
    static _Thread_local char path[256];
    const char *set = getenv("TACHO_CONTROL");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (set && *set) {
        return set;
    }
    if (runtime && *runtime && strcmp(runtime, ROOT_SESSION) != 0) {
        snprintf(path, sizeof path, "%s/tacho.sock", runtime);
        return path;
    }
    /* A container, cron or su: no session, and no right to make a folder in /run. */
    snprintf(path, sizeof path, "/tmp/tacho-%u", (unsigned)geteuid());
    if (geteuid() == 0 || !is_own_folder(path)) {
        return "/run/tacho/control.sock";
    }
    snprintf(path, sizeof path, "/tmp/tacho-%u/control.sock", (unsigned)geteuid());
    return path;
}
