/* SPDX-License-Identifier: MIT */
/*
 * Finding and loading plugins. A module is loaded once, checked (owner and mode of file and folder,
 * ABI, sizes, tables) and never unloaded: destructors of vendor libraries and leak reports both
 * need it to stay. Any thread.
 *
 * Looked for, in this order: TACHO_PLUGIN_PATH (folders, colon-separated), the build tree that the
 * running binary lies in, the installed plugin folder.
 */
#ifndef TACHO_CORE_MODULE_H
#define TACHO_CORE_MODULE_H

#include <stddef.h>

#include "core/plugin.h"

struct module {
    char *path;
    struct tacho_plugin plugin;         /* copied by size: what the plugin lacks is NULL or 0 */
    const struct tacho_option *options; /* copied row by row, as strides may differ */
    const struct tacho_metric *metrics;
    const struct tacho_command *commands;
};

/* By name ("proc"), or by path when it holds a slash. The module is the process's: do not free. */
int module_load(const char *name, const struct module **out, struct tacho_err *err);

/* Calls visit for each plugin file that can be found, loaded or not, sorted by name; the first file
 * of a name is the one that module_load takes. */
void module_list(void (*visit)(void *context, const char *name, const char *path), void *context);

#endif
