/* SPDX-License-Identifier: MIT */
/* tacho plugin list: every plugin file on the search path, or why it cannot be loaded. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"
#include "core/cmd/plugin.h"
#include "core/option.h"

struct listing {
    json_t *rows; /* NULL: text */
    char last[64];
};

static void print_text(const char *name, const char *path, const struct module *module,
                       const struct tacho_err *err)
{
    char roles[64];
    if (module) {
        printf("%-12s %-10s %-24s %s\n             %s\n", name,
               module->plugin.version ? module->plugin.version : "",
               plugin_roles(&module->plugin, roles, sizeof roles),
               module->plugin.summary ? module->plugin.summary : "", path);
    } else {
        printf("%-12s cannot be loaded: %s\n             %s\n", name, err->text, path);
    }
}

static json_t *row(const char *name, const char *path, const struct module *module,
                   const struct tacho_err *err)
{
    if (!module) {
        return json_pack("{s:s, s:s, s:s}", "name", name, "path", path, "error", err->text);
    }
    return json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", name, "version",
                     module->plugin.version ? module->plugin.version : "", "roles",
                     plugin_roles_json(&module->plugin), "summary",
                     module->plugin.summary ? module->plugin.summary : "", "path", path);
}

static void visit(void *context, const char *name, const char *path)
{
    struct listing *listing = context;
    struct tacho_err err = {0};
    const struct module *module = NULL;
    /* A second file of a name is never taken, so it is none of those that there are. */
    if (strcmp(listing->last, name) == 0) {
        return;
    }
    snprintf(listing->last, sizeof listing->last, "%s", name);
    if (module_load(name, &module, &err) == TACHO_OK) {
        if (option_check_presets(module, &err) != TACHO_OK) {
            module = NULL;
        }
    }
    if (listing->rows) {
        json_array_append_new(listing->rows, row(name, path, module, &err));
    } else {
        print_text(name, path, module, &err);
    }
}

int plugin_list(int argc, char **argv)
{
    struct listing listing = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            listing.rows = listing.rows ? listing.rows : json_array();
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            puts("usage: tacho plugin list [--json]\n\n"
                 "Lists the plugins in TACHO_PLUGIN_PATH, in the build tree of this binary and in\n"
                 "the installed plugin folder; the first of a name is the one that counts.");
            return CMD_OK;
        } else {
            fprintf(stderr, "tacho plugin list: cannot understand '%s'\n", argv[i]);
            json_decref(listing.rows);
            return CMD_USAGE;
        }
    }
    module_list(visit, &listing);
    if (listing.rows) {
        json_dumpf(listing.rows, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
        json_decref(listing.rows);
    }
    return CMD_OK;
}
