/* SPDX-License-Identifier: MIT */
/*
 * An instance of the plugin under test, with a host that watches what it is told. For
 * plugin_check*.c only; one process for each probe, so the notes are the process's.
 */
#ifndef TACHO_CORE_CMD_PLUGIN_CHECK_RUN_H
#define TACHO_CORE_CMD_PLUGIN_CHECK_RUN_H

#include "core/cmd/plugin_check.h"
#include "core/host.h"
#include "core/module.h"

struct run {
    const struct module *module;
    struct host_services services;
    struct host host;
    void *options;
    void *self; /* NULL: not open */
    struct tacho_err err;
};

enum { RUN_READY = -1 };

/* Loads the plugin and fills its options, the second's with `second`. RUN_READY, or the verdict
 * with the sentence in check. */
int run_init(struct run *run, struct check *check, const char *name, bool second);
void run_fini(struct run *run);

/* Opens the instance. A plugin that says good reasons why it cannot work here is skipped; one that
 * fails without a sentence fails. RUN_READY, or the verdict. */
int run_open(struct run *run, struct check *check);
void run_close(struct run *run);

/* Whether a result exists, and comes with a sentence when it has to. Else fails. */
bool run_result_ok(struct check *check, const char *what, int result, const struct tacho_err *err);

/* One collect into a batch that is then sealed and let go. Returns the plugin's result. */
int run_collect(struct run *run, int64_t allowed_ns);

/* What the watching host has seen since the last reset. */
struct run_notes {
    char wrong[CHECK_TEXT]; /* the first thing that was wrong, or "" */
    uint64_t entities, values, absent, not_finite;
};
void run_notes_reset(void);
const struct run_notes *run_notes(void);

#endif
