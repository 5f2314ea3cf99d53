/* SPDX-License-Identifier: MIT */
/*
 * `tacho plugin check`: a list of probes, each run in a child process of its own with a time limit,
 * so that a plugin that crashes or hangs fails one probe and no more.
 */
#ifndef TACHO_CORE_CMD_PLUGIN_CHECK_H
#define TACHO_CORE_CMD_PLUGIN_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/option.h"
#include "core/plugin.h"

enum verdict { VERDICT_PASS = 0, VERDICT_FAIL = 1, VERDICT_SKIP = 2 };

#define CHECK_TEXT 512
#define CHECK_ROUNDS 1000 /* open and close, when looking for leaks */

/* What is checked, and what a probe found: one sentence. */
struct check {
    char *path;                /* of the plugin's file, absolute */
    struct option_text *given; /* -o KEY=VALUE, */
    uint32_t given_count;
    struct option_text *second; /* and -O on top of it, for the second of two instances */
    uint32_t second_count;
    char text[CHECK_TEXT];
};

/* Writes the sentence and returns the verdict. */
int check_say(struct check *check, int verdict, const char *format, ...) TACHO_PRINTF(3, 4);

struct probe {
    const char *name;
    int (*run)(struct check *check);
    const char *about; /* what it looks for, for --help */
};

/* In the file, without loading it: plugin_check_elf.c. */
int check_undefined(struct check *check);
int check_exports(struct check *check);
int check_state(struct check *check);

/* What it says of itself: plugin_check_tables.c. */
int check_load(struct check *check);
int check_metrics(struct check *check);
int check_options(struct check *check);
int check_bad_values(struct check *check);

/* Life of an instance: plugin_check_life.c. */
int check_open(struct check *check);
int check_leaks(struct check *check);
int check_pair(struct check *check);

/* Its roles: plugin_check_roles.c. */
int check_collect(struct check *check);
int check_deadline(struct check *check);
int check_cancel(struct check *check);
int check_consume(struct check *check);
int check_commands(struct check *check);

#endif
