/* SPDX-License-Identifier: MIT */
/*
 * Commands that put one question to the running daemon and print its answer. They share their
 * arguments (--control PATH, --json, --help) and what they do when no daemon is there.
 */
#ifndef TACHO_CORE_CMD_ASK_H
#define TACHO_CORE_CMD_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct question {
    const char *name;    /* of the command, and of what the daemon is asked */
    const char *summary; /* for the help */
    const char *exits;   /* "0 applied, 78 problems" */
    int64_t timeout_ns;
    /* Prints the answer (not when quiet: it was printed as JSON) and returns the exit status. */
    int (*answer)(const json_t *reply, bool quiet);
};

int ask(const struct question *question, int argc, char **argv);

/* Members of an object, "" and 0 when they are not there. */
const char *ask_text(const json_t *object, const char *name);
long long ask_number(const json_t *object, const char *name);

#endif
