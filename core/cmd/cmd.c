/* SPDX-License-Identifier: MIT */
/* What tacho and its families of commands share: finding the one that was asked for. */
#include "core/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

static void print_help(const struct command_table *table, FILE *out)
{
    fprintf(out, "usage: %s %s\n\n", table->name, table->usage);
    for (size_t i = 0; i < table->count; i++) {
        if (table->commands[i].summary) {
            fprintf(out, "  %-10s %s\n", table->commands[i].name, table->commands[i].summary);
        }
    }
    fprintf(out, "\n%s\n", table->tail);
}

int cmd_dispatch(const struct command_table *table, int argc, char **argv)
{
    if (argc < 2) {
        print_help(table, stderr);
        return CMD_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_help(table, stdout);
        return CMD_OK;
    }
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->commands[i].name, name) == 0) {
            return table->commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "%s: there is no command '%s'; '%s --help' lists them\n", table->name, name,
            table->name);
    return CMD_USAGE;
}
