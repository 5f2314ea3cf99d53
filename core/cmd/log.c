/* SPDX-License-Identifier: MIT */
/* tacho log: the family of commands that read logs. */
#include "core/cmd/log.h"

#include "core/cmd/cmd.h"

static const struct command subcommands[] = {
#define SUBCOMMAND(name, function, summary) {name, function, summary},
#include "core/cmd/log_commands.def"
#undef SUBCOMMAND
};

static const struct command_table table = {
    .name = "tacho log",
    .usage = "COMMAND [ARGUMENTS] PATH",
    .tail = "PATH is the folder of a log, or one of its files; it may be in use.\n"
            "'tacho log COMMAND --help' tells more.",
    .commands = subcommands,
    .count = sizeof subcommands / sizeof subcommands[0],
};

int cmd_log(int argc, char **argv)
{
    return cmd_dispatch(&table, argc, argv);
}
