/* SPDX-License-Identifier: MIT */
/*
 * Option tables: values written as text into a plugin's options struct, with type, range and
 * choices checked. Knows nothing of files; conf hands it what stands there, and an isolated child
 * hands it what its parent sent.
 */
#ifndef TACHO_CORE_OPTION_H
#define TACHO_CORE_OPTION_H

#include "core/module.h"
#include "core/plugin.h"

/* One option as given: the text as in the file ("500ms", "true", "4"), a string without its quotes;
 * lists have several. A preset is one text: a string without quotes, or a list as ["a", "b"]. */
struct option_text {
    char *name;
    char **values;
    uint32_t count;
};

/* Makes and fills an options struct: given values, presets for the rest. The first problem is in
 * err as "NAME: problem"; conf checks one by one with option_check to find all. */
int option_fill(const struct module *module, const struct option_text *given, size_t given_count,
                void **out_options, struct tacho_err *err);
void option_free(const struct module *module, void *options);

/* Checks one given option against its row. */
int option_check(const struct tacho_option *row, const struct option_text *given,
                 struct tacho_err *err);

/* Checks the presets of all rows; module_load cannot, as it knows nothing of values. */
int option_check_presets(const struct module *module, struct tacho_err *err);

/* The row of that name, or NULL. */
const struct tacho_option *option_find(const struct module *module, const char *name);

const char *option_type_name(int type);

/* "from 1 to 64", "at least 10ms", or "" when all values are good. Returns out. */
const char *option_range(const struct tacho_option *row, char *out, size_t size);

/* The nearest of the names by edit distance, or NULL when none is near. */
const char *option_nearest(const char *name, const char *const *names, size_t count);

#endif
