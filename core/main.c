/* SPDX-License-Identifier: MIT */
/* The entry: what must hold before anything else, then the command. The rest is in core/cmd. */
#include <signal.h>
#include <string.h>

#include "core/cmd/cmd.h"

static const struct command commands[] = {
#define COMMAND(name, function, summary) {name, function, summary},
#include "core/cmd/commands.def"
#undef COMMAND
};

static const struct command_table table = {
    .name = "tacho",
    .usage = "COMMAND [ARGUMENTS]",
    .tail = "'tacho COMMAND --help' tells more; the manual is tacho(1).",
    .commands = commands,
    .count = sizeof commands / sizeof commands[0],
};

int main(int argc, char **argv)
{
    /* A peer that hangs up is an error code of write, never the end of the process; and a reload
     * asked for before the daemon listens must not kill it. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        return cmd_version(argc - 1, argv + 1);
    }
    return cmd_dispatch(&table, argc, argv);
}
