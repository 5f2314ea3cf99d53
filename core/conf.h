/* SPDX-License-Identifier: MIT */
/*
 * The configuration: a libconfig file into plain structs, checked to the last key, with all its
 * problems and the place of each. The only user of libconfig. Loading a configuration loads the
 * plugins that it names, since their tables say which keys there may be.
 */
#ifndef TACHO_CORE_CONF_H
#define TACHO_CORE_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/module.h"
#include "core/option.h"

enum conf_role {
    CONF_PROVIDER = 0,
    CONF_SINK = 1,
    CONF_SERVICE = 2,
};

/* What a full queue does; the names in the file are drop_oldest, drop_newest, block. */
enum conf_overflow {
    CONF_DROP_OLDEST = 0,
    CONF_DROP_NEWEST = 1,
    CONF_BLOCK = 2, /* makes the publisher wait a little (at most 100 ms), then drops the newest */
};

/* One value with where it came from, for `tacho config show`. */
struct conf_value {
    char *path;   /* "providers[0].interval" */
    char *text;   /* as shown: masked when secret */
    char *origin; /* "default", "tacho.conf:12", "environment TACHO_POLL_INTERVAL_MS" */
};

/* One instance of a plugin, everything decided: defaults applied, environment overrides too. */
struct conf_instance {
    int role; /* enum conf_role */
    char *plugin;
    char *name;
    char *file; /* where it stands */
    int line;
    int64_t interval_ns; /* providers */
    int64_t phase_ns;    /* offset of the cadence */
    int64_t deadline_ns; /* for one call */
    bool isolate;        /* in a child process */
    bool kill;           /* a stuck child may be ended with SIGKILL */
    uint32_t queue;      /* batches that may wait for a sink or service */
    int overflow;        /* enum conf_overflow */
    char *chain;         /* "" or the chain that a provider stands in */
    char **filter; /* globs of source names a sink or service takes, "!x" leaves out; NULL: all */
    uint32_t filter_count;
    const struct module *module;
    struct option_text *given; /* the plugin's own keys as given, for an isolated child */
    uint32_t given_count;
    void *options; /* filled options struct of the plugin */
    uint64_t hash; /* of all above that matters: equal means nothing to do at a reload */
};

struct conf {
    char *path;
    char *fleet;
    char *host;
    char *control;   /* path of the control socket; "" none */
    char *state_dir; /* "" none */
    int log_level;   /* enum tacho_log_level */
    bool self;       /* publish the daemon's own metrics */
    int64_t self_interval_ns;
    struct conf_instance **instances; /* in the order of the file: providers, sinks, services */
    uint32_t instance_count;
    struct conf_value *values;
    uint32_t value_count;
    uint64_t hash;
    char hash_text[17];
};

struct conf_problem {
    char *file;
    int line;      /* 0: none */
    char *path;    /* "providers[0].interval", or "" */
    char *problem; /* with "; did you mean …" where that helps */
};

struct conf_problems {
    struct conf_problem *items;
    uint32_t count;
};

enum conf_mode {
    CONF_FULL = 0,
    CONF_OFFLINE = 1, /* check the file only: secret files and paths need not be there */
};

/* Reads and checks a file. On failure (TACHO_CONFIG) problems holds all that is wrong and *out is
 * NULL. To be freed, both. */
int conf_load(const char *path, int mode, struct conf **out, struct conf_problems *problems);
void conf_free(struct conf *conf);
void conf_problems_free(struct conf_problems *problems);

/* "file:line: path: problem", without what does not apply. */
void conf_problem_print(const struct conf_problem *problem, char *out, size_t size);

/* The file that is used when none is named: TACHO_CONFIG, else the installed one. */
const char *conf_default_path(void);

/* The control socket that a client asks: TACHO_CONTROL, else XDG_RUNTIME_DIR/tacho.sock, else
 * /run/tacho/control.sock for root and /tmp/tacho-UID/control.sock for others. Also the default of
 * the key `control`. */
const char *conf_default_control(void);

#endif
