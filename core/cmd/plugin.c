/* SPDX-License-Identifier: MIT */
/* tacho plugin: the family of commands about plugins, and what they share. */
#include "core/cmd/plugin.h"

#include <stdio.h>

#include "core/cmd/cmd.h"

static const struct command subcommands[] = {
#define SUBCOMMAND(name, function, summary) {name, function, summary},
#include "core/cmd/plugin_commands.def"
#undef SUBCOMMAND
};

static const struct command_table table = {
    .name = "tacho plugin",
    .usage = "COMMAND [ARGUMENTS]",
    .tail = "'tacho plugin COMMAND --help' tells more.",
    .commands = subcommands,
    .count = sizeof subcommands / sizeof subcommands[0],
};

int cmd_plugin(int argc, char **argv)
{
    return cmd_dispatch(&table, argc, argv);
}

const char *plugin_roles(const struct tacho_plugin *plugin, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s%s", plugin->collect ? "provider" : "",
             plugin->collect && plugin->consume ? ", " : "", plugin->consume ? "sink" : "",
             (plugin->collect || plugin->consume) && plugin->call ? ", " : "",
             plugin->call ? "service" : "");
    return out;
}

json_t *plugin_roles_json(const struct tacho_plugin *plugin)
{
    json_t *roles = json_array();
    if (plugin->collect) {
        json_array_append_new(roles, json_string("provider"));
    }
    if (plugin->consume) {
        json_array_append_new(roles, json_string("sink"));
    }
    if (plugin->call) {
        json_array_append_new(roles, json_string("service"));
    }
    return roles;
}

void plugin_cell(const char *text)
{
    putchar(' ');
    for (; text && *text; text++) {
        if (*text == '|') {
            putchar('\\');
        }
        putchar(*text == '\n' ? ' ' : *text);
    }
    fputs(" |", stdout);
}
