/* SPDX-License-Identifier: MIT */
/* What the files of module share: where plugin files are, whether they can be trusted, and whether
 * what they hold makes sense. */
#ifndef TACHO_CORE_MODULE_PRIVATE_H
#define TACHO_CORE_MODULE_PRIVATE_H

#include <stdbool.h>

#include "core/module.h"

/* The file of a plugin's name, heap-allocated; NULL when there is none in any folder. */
char *module_find(const char *name);

/* The folders that were looked through, for a message: "a, b and c", cut to size. */
void module_folders(char *out, size_t size);

/* Refuses a file that somebody else than root or the own user could have written or can replace. */
int module_trust(const char *path, struct tacho_err *err);

/* Whether text can name a plugin, an option or a command: [a-z][a-z0-9_]*, at most 48 bytes. */
bool module_name_ok(const char *text);

/* Checks a copied module whole; says the first thing that is wrong, without the file's name. */
int module_check(const struct module *module, struct tacho_err *err);

#endif
