/* SPDX-License-Identifier: MIT */
/* tacho plugin: finds the subcommand, as main does, and what the subcommands share. */
#include "core/cmd/plugin.h"

#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"

static const struct command subcommands[] = {
#define SUBCOMMAND(name, function, summary) {name, function, summary},
#include "core/cmd/plugin_commands.def"
#undef SUBCOMMAND
};

static void print_help(FILE *out)
{
    fputs("usage: tacho plugin COMMAND [ARGUMENTS]\n\n", out);
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        fprintf(out, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
    }
    fputs("\n'tacho plugin COMMAND --help' tells more.\n", out);
}

int cmd_plugin(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CMD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return CMD_OK;
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        if (strcmp(subcommands[i].name, argv[1]) == 0) {
            return subcommands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "tacho plugin: there is no command '%s'; see 'tacho plugin --help'\n", argv[1]);
    return CMD_USAGE;
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
