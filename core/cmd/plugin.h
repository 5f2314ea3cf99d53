/* SPDX-License-Identifier: MIT */
/* The subcommands of `tacho plugin`: one line for each in plugin_commands.def. Each gets its own
 * name as argv[0] and answers --help. */
#ifndef TACHO_CORE_CMD_PLUGIN_H
#define TACHO_CORE_CMD_PLUGIN_H

#include <jansson.h>

#include "core/module.h"

#define SUBCOMMAND(name, function, summary) int function(int argc, char **argv);
#include "core/cmd/plugin_commands.def"
#undef SUBCOMMAND

/* "provider, sink". Returns out. */
const char *plugin_roles(const struct tacho_plugin *plugin, char *out, size_t size);
json_t *plugin_roles_json(const struct tacho_plugin *plugin); /* new reference */

/* One cell of a markdown table, escaped, with the bar behind it. */
void plugin_cell(const char *text);

#endif
