/* SPDX-License-Identifier: MIT */
/* The entry: finds the subcommand and runs it. Everything else is in core/cmd. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"

static const struct command commands[] = {
#define COMMAND(name, function, summary) {name, function, summary},
#include "core/cmd/commands.def"
#undef COMMAND
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out)
{
    fputs("usage: tacho COMMAND [ARGUMENTS]\n\n", out);
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].summary) {
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
        }
    }
    fputs("\n'tacho COMMAND --help' tells more; the manual is tacho(1).\n", out);
}

static const char *alias(const char *word)
{
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        return "version";
    }
    return word;
}

int main(int argc, char **argv)
{
    /* A peer that hangs up is an error code of write, never the end of the process; and a reload
     * asked for before the daemon listens must not kill it. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (argc < 2) {
        print_help(stderr);
        return CMD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return CMD_OK;
    }
    const char *name = alias(argv[1]);
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "tacho: there is no command '%s'; 'tacho --help' lists them\n", argv[1]);
    return CMD_USAGE;
}
