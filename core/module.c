/* SPDX-License-Identifier: MIT */
/* Loading plugins: one dlopen for each file, the struct and its tables copied by their own sizes,
 * kept for the life of the process. Where files lie is module_find.c's matter, what they may hold
 * module_check.c's. */
#include "core/module_private.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/err.h"

/* More rows or larger rows than this are no table but a misread struct. */
enum { ROWS_MAX = 4096, STRIDE_MAX = 4096 };

struct loaded {
    struct loaded *next;
    struct module module;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static struct loaded *list;

static struct loaded *find_loaded(const char *path)
{
    struct loaded *entry = list;
    while (entry && strcmp(entry->module.path, path) != 0) {
        entry = entry->next;
    }
    return entry;
}

/* The symbol's own size, from the object's symbol table; 0 when it is not known. */
static size_t symbol_size(const void *symbol)
{
    Dl_info info;
    ElfW(Sym) *entry = NULL;
    if (!dladdr1(symbol, &info, (void **)&entry, RTLD_DL_SYMENT) || !entry) {
        return 0;
    }
    return entry->st_size;
}

static int copy_plugin(const struct tacho_plugin *theirs, struct tacho_plugin *ours,
                       struct tacho_err *err)
{
    if (theirs->abi_major != TACHO_ABI_MAJOR) {
        return tacho_fail(err, TACHO_CONFIG,
                          "it speaks version %u of the plugin ABI and this tacho version %d; build "
                          "it again with this tacho's plugin.h",
                          theirs->abi_major, TACHO_ABI_MAJOR);
    }
    size_t least = offsetof(struct tacho_plugin, collect), real = symbol_size(theirs);
    if (theirs->struct_size < least || (real > 0 && theirs->struct_size > real)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "its struct says that it has %u bytes but has %zu; begin it with "
                          "TACHO_PLUGIN_HEADER",
                          theirs->struct_size, real);
    }
    memset(ours, 0, sizeof *ours);
    memcpy(ours, theirs, theirs->struct_size < sizeof *ours ? theirs->struct_size : sizeof *ours);
    return TACHO_OK;
}

struct table {
    const char *what;
    const void *rows;
    uint32_t count, stride;
    size_t least, size; /* of one row: what we need, what we know */
};

/* Copies row by row, as a row of theirs may be shorter or longer than ours. */
static int copy_table(const struct table *table, void *out_rows, struct tacho_err *err)
{
    void **out = out_rows;
    *out = NULL;
    if (table->count == 0) {
        return TACHO_OK;
    }
    if (!table->rows || table->count > ROWS_MAX || table->stride < table->least ||
        table->stride > STRIDE_MAX || table->stride % sizeof(void *) != 0) {
        return tacho_fail(err, TACHO_CONFIG,
                          "its table of %s has %u rows of %u bytes, which cannot be; use the macro "
                          "of plugin.h for it",
                          table->what, table->count, table->stride);
    }
    char *rows = calloc(table->count, table->size);
    if (!rows) {
        return tacho_fail(err, TACHO_RETRY, "there is no memory for its table of %s", table->what);
    }
    size_t length = table->stride < table->size ? table->stride : table->size;
    for (uint32_t i = 0; i < table->count; i++) {
        memcpy(rows + i * table->size, (const char *)table->rows + (size_t)i * table->stride,
               length);
    }
    *out = rows;
    return TACHO_OK;
}

static int copy_tables(struct module *module, struct tacho_err *err)
{
    const struct tacho_plugin *plugin = &module->plugin;
    struct table options = {"options",
                            plugin->options,
                            plugin->option_count,
                            plugin->option_stride,
                            offsetof(struct tacho_option, preset),
                            sizeof(struct tacho_option)};
    struct table metrics = {"metrics",
                            plugin->metrics,
                            plugin->metric_count,
                            plugin->metric_stride,
                            offsetof(struct tacho_metric, flags),
                            sizeof(struct tacho_metric)};
    struct table commands = {"commands",
                             plugin->commands,
                             plugin->command_count,
                             plugin->command_stride,
                             offsetof(struct tacho_command, arguments),
                             sizeof(struct tacho_command)};
    if (copy_table(&options, &module->options, err) != TACHO_OK ||
        copy_table(&metrics, &module->metrics, err) != TACHO_OK) {
        return err->code;
    }
    return copy_table(&commands, &module->commands, err);
}

static void free_loaded(struct loaded *entry)
{
    if (entry) {
        free((void *)entry->module.options);
        free((void *)entry->module.metrics);
        free((void *)entry->module.commands);
        free(entry->module.path);
        free(entry);
    }
}

static int read_struct(const char *path, struct module *module, struct tacho_err *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
        return tacho_fail(err, TACHO_CONFIG, "the system cannot load it: %s", dlerror());
    }
    const struct tacho_plugin *theirs = dlsym(handle, TACHO_PLUGIN_SYMBOL);
    if (!theirs) {
        return tacho_fail(err, TACHO_CONFIG,
                          "it has no symbol " TACHO_PLUGIN_SYMBOL
                          ", so it is no plugin or one for another major version");
    }
    if (copy_plugin(theirs, &module->plugin, err) != TACHO_OK ||
        copy_tables(module, err) != TACHO_OK) {
        return err->code;
    }
    return module_check(module, err);
}

/* Loads a file that is not in the list yet. The lock is held. */
static int load_file(const char *path, const struct module **out, struct tacho_err *err)
{
    struct loaded *entry = calloc(1, sizeof *entry);
    struct tacho_err local = {0};
    if (entry) {
        entry->module.path = strdup(path);
    }
    if (!entry || !entry->module.path) {
        free_loaded(entry);
        return tacho_fail(err, TACHO_RETRY, "there is no memory to load %s", path);
    }
    if (module_trust(path, &local) == TACHO_OK &&
        read_struct(path, &entry->module, &local) != TACHO_OK) {
        err_prefix(&local, "plugin %s: ", path);
    }
    if (local.code != TACHO_OK) {
        free_loaded(entry);
        return tacho_fail(err, local.code, "%s", local.text);
    }
    entry->next = list;
    list = entry;
    *out = &entry->module;
    return TACHO_OK;
}

static int load_path(const char *path, const struct module **out, struct tacho_err *err)
{
    char whole[PATH_MAX];
    if (!realpath(path, whole)) {
        return err_sys(err, TACHO_CONFIG, "cannot open the plugin %s", path);
    }
    pthread_mutex_lock(&lock);
    struct loaded *entry = find_loaded(whole);
    int result = TACHO_OK;
    if (entry) {
        *out = &entry->module;
    } else {
        result = load_file(whole, out, err);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int module_load(const char *name, const struct module **out, struct tacho_err *err)
{
    struct tacho_err local = {0};
    err = err ? err : &local;
    if (strchr(name, '/')) {
        return load_path(name, out, err);
    }
    char *path = module_name_ok(name) ? module_find(name) : NULL;
    if (!path) {
        char folders[256];
        module_folders(folders, sizeof folders);
        return tacho_fail(err, TACHO_CONFIG, "there is no plugin \"%s\" in %s", name, folders);
    }
    const struct module *module = NULL;
    int result = load_path(path, &module, err);
    if (result == TACHO_OK && strcmp(module->plugin.name, name) != 0) {
        result = tacho_fail(err, TACHO_CONFIG, "plugin %s calls itself \"%s\"; name the file %s.so",
                            path, module->plugin.name, module->plugin.name);
    }
    if (result == TACHO_OK) {
        *out = module;
    }
    free(path);
    return result;
}
