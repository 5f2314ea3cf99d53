/* SPDX-License-Identifier: MIT */
/* tacho log: finds the subcommand, as main does. */
#include "core/cmd/log.h"

#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"

static const struct command subcommands[] = {
#define SUBCOMMAND(name, function, summary) {name, function, summary},
#include "core/cmd/log_commands.def"
#undef SUBCOMMAND
};

static void print_help(FILE *out)
{
    fputs("usage: tacho log COMMAND [ARGUMENTS] PATH\n\n", out);
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        fprintf(out, "  %-10s %s\n", subcommands[i].name, subcommands[i].summary);
    }
    fputs("\nPATH is the folder of a log, or one of its files; it may be in use.\n"
          "'tacho log COMMAND --help' tells more.\n",
          out);
}

int cmd_log(int argc, char **argv)
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
    fprintf(stderr, "tacho log: there is no command '%s'; see 'tacho log --help'\n", argv[1]);
    return CMD_USAGE;
}
