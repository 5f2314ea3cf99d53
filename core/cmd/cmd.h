/* SPDX-License-Identifier: MIT */
/*
 * The subcommands of tacho: one file for each below core/cmd, one line for each in commands.def. A
 * command gets its own name as argv[0], prints its answer on standard output and problems on
 * standard error, and returns the exit status.
 */
#ifndef TACHO_CORE_CMD_CMD_H
#define TACHO_CORE_CMD_CMD_H

#include <stddef.h>

/* Exit codes, of sysexits.h where there is one. */
enum cmd_exit {
    CMD_OK = 0,
    CMD_NO = 1,      /* a negative answer: differs, is damaged */
    CMD_USAGE = 2,   /* wrong arguments */
    CMD_NONE = 69,   /* no such device, service or daemon */
    CMD_LATER = 75,  /* may work later: timeout */
    CMD_CONFIG = 78, /* the configuration is wrong */
};

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL: not listed in the help */
};

/* A family of commands: tacho itself, `tacho log`, `tacho plugin`. */
struct command_table {
    const char *name;  /* "tacho log" */
    const char *usage; /* what stands behind the name in the help */
    const char *tail;  /* last lines of the help */
    const struct command *commands;
    size_t count;
};

/* Runs the command that argv[1] names, or prints the help. */
int cmd_dispatch(const struct command_table *table, int argc, char **argv);

#define COMMAND(name, function, summary) int function(int argc, char **argv);
#include "core/cmd/commands.def"
#undef COMMAND

#endif
