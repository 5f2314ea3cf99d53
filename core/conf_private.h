/* SPDX-License-Identifier: MIT */
/*
 * What the files of conf share. A load goes through these steps, one file each:
 *
 *   conf_scan.c      the bytes of a file: what libconfig would misread without a word
 *   conf_tree.c      libconfig's tree into nodes; the only user of libconfig
 *   conf_include.c   the files that a file includes
 *   conf_env.c       ${NAME} in strings, and overrides by variables
 *   conf_key.c       one key: its type, its value, where it came from
 *   conf_top.c       the keys of the top
 *   conf_group.c     one group of providers, sinks or services
 *   conf_secret.c    files that hold secrets
 *   conf_instance.c  instances, and what only all of them together can tell
 *   conf_hash.c      what a reload compares
 *
 * Problems are collected on the way; nothing stops at the first.
 */
#ifndef TACHO_CORE_CONF_PRIVATE_H
#define TACHO_CORE_CONF_PRIVATE_H

#include <sys/types.h>

#include "core/arena.h"
#include "core/conf.h"

enum node_type {
    NODE_BAD = 0, /* its problem is reported already */
    NODE_GROUP = 1,
    NODE_LIST = 2, /* libconfig's lists and arrays */
    NODE_STRING = 3,
    NODE_NUMBER = 4, /* whole or not: the text tells */
    NODE_BOOL = 5,
};

/* One setting of a file. */
struct node {
    const char *name; /* "" in a list */
    const char *file;
    int line;
    int type;
    const char *text; /* of a scalar, after ${…} */
    struct node **items;
    uint32_t count;
};

/* One file that was read, in the order of reading: sorts the problems. */
struct conf_file {
    const char *shown; /* as in messages */
    dev_t device;
    ino_t inode;
    struct node *root; /* NULL for a file that libconfig included itself */
};

enum { CONF_FILES_MAX = 256 };

/* A whole number that libconfig cuts to 32 bits without a word: found by the scan, matched with its
 * setting by place and what was left of it. */
struct conf_overflow_at {
    const char *file;
    int line;
    int bits; /* that it does not fit in */
    long long left;
    const char *text;
};

enum { CONF_OVERFLOWS_MAX = 64 };

struct reader {
    int mode;
    struct conf *conf;
    struct arena *arena; /* the configuration's: what is kept lives there */
    struct conf_problems *problems;
    struct conf_file files[CONF_FILES_MAX];
    uint32_t file_count;
    struct conf_overflow_at overflows[CONF_OVERFLOWS_MAX];
    uint32_t overflow_count;
    uint32_t scans; /* files looked through so far, each time one is included */
    bool no_memory;
    const char *forced;           /* the provider that stands for its chain, or "" */
    const struct node *forced_at; /* NULL: by the environment */
    const char *interval;         /* TACHO_POLL_INTERVAL_MS as a duration, or NULL */
    bool no_system;               /* by TACHO_ENABLE_SYSTEM_METRICS */
    uint32_t value_room, instance_room;
    const char **shown; /* beside conf->instances: path for config show */
};

/* ---- conf.c: memory ---- */

/* Copies into the configuration; "" and reader->no_memory when there is none left. */
char *conf_keep(struct reader *reader, const char *text);
char *conf_keepf(struct reader *reader, const char *format, ...) TACHO_PRINTF(2, 3);
void *conf_alloc(struct reader *reader, size_t bytes); /* zeroed; or NULL, flagged */

/* ---- conf_problem.c ---- */

void conf_problem(struct reader *reader, const char *file, int line, const char *path,
                  const char *format, ...) TACHO_PRINTF(5, 6);
/* "; did you mean "x"?" or "". Returns out. */
const char *conf_hint(const char *name, const char *const *names, size_t count, char *out,
                      size_t size);
void conf_problems_sort(struct reader *reader);

#define CONF_ENVIRONMENT "environment"

/* ---- conf_scan.c, conf_tree.c, conf_include.c ---- */

/* Looks through the bytes of a file and of what it includes with @include; false when libconfig
 * should not see it. `at` is where it was included, or NULL. */
bool conf_scan(struct reader *reader, const char *path, const struct node *at);
/* Adds a file to those that sort the problems; NULL when there are too many. */
struct conf_file *conf_file_add(struct reader *reader, const char *shown);
/* "folder of path/name", or name when it is absolute. */
const char *conf_join(struct reader *reader, const char *path, const char *name);
/* NULL when the file has problems. All its strings are expanded. */
struct node *conf_tree_read(struct reader *reader, const char *path);
/* Reads a file and all that its key `include` names. */
void conf_read_files(struct reader *reader, const char *path);

/* ---- conf_env.c ---- */

/* Replaces ${NAME}, ${NAME:-default}, ${NAME:?message}; "$${" is a plain "${". NULL with a problem
 * in err. */
const char *conf_expand(struct reader *reader, const char *text, struct tacho_err *err);
/* The value of an override, or NULL; an empty one counts as not set. */
const char *conf_override(const char *name);
/* Reads the overrides that concern several instances. */
void conf_read_environment(struct reader *reader);

/* ---- conf_key.c ---- */

/* A table of keys of our own is an option table like a plugin's, so that one code checks both. */
struct conf_table {
    const struct module *module;
    struct option_text *given;   /* room for all rows */
    const struct node **nodes;   /* beside given; NULL: by the environment */
    const struct node **instead; /* beside given: what a later file or a variable replaced */
    const char **variables;      /* beside given: name of the variable, or NULL */
    uint32_t count;
};

bool conf_table_init(struct reader *reader, struct conf_table *table, const struct module *module);
/* Reads a node by its row: what libconfig called it against what the row needs, then option_check.
 * A value of the same row given before is replaced. */
void conf_table_set(struct reader *reader, struct conf_table *table, const struct node *node,
                    const char *path, const struct tacho_option *row);
/* The same from a variable of the environment. */
void conf_table_override(struct reader *reader, struct conf_table *table,
                         const struct tacho_option *row, const char *variable, const char *text);
/* Index of the row's value in given, or -1. */
int conf_table_find(const struct conf_table *table, const char *name);
/* All rows as shown, below path. */
void conf_table_show(struct reader *reader, const struct conf_table *table, const char *path);
void conf_table_show_row(struct reader *reader, const struct conf_table *table, const char *path,
                         const struct tacho_option *row);
void conf_value_add(struct reader *reader, const char *path, const char *text, const char *origin);
const char *conf_origin(struct reader *reader, const struct node *node);
const char *conf_quote(struct reader *reader, const char *text);

/* ---- conf_group.c ---- */

/* The core's keys of an instance. */
struct conf_keys {
    const char *plugin, *name, *overflow, *chain;
    int32_t enabled, isolate, kill;
    int64_t interval_ns, phase_ns, deadline_ns, queue;
    struct tacho_strings filter;
};

extern const struct module conf_keys_module; /* its rows, in the order of config show */
extern const char *const conf_role_lists[];  /* "providers", … */

struct conf_group {
    struct reader *reader;
    const struct node *node;
    int role;
    const char *path;            /* for problems: with the index in its own file */
    const char *shown;           /* for config show: with the index over all files */
    const struct module *module; /* NULL: disabled, or there is a problem with it */
    struct conf_table keys, own; /* the core's, the plugin's */
    struct conf_keys *decided;   /* the core's keys as values */
};

bool conf_key_for_role(const char *key, int role);
/* Reads and checks all of a group. To be finished with fini in any case. */
void conf_group_read(struct conf_group *group);
void conf_group_fini(struct conf_group *group);

/* ---- the parts ---- */

struct node *conf_child(const struct node *group, const char *name);
void conf_read_top(struct reader *reader);
void conf_read_instances(struct reader *reader);
void conf_check_secret(struct reader *reader, const struct node *node, const char *path,
                       const char *file);
void conf_hash(struct conf *conf);

/* Whether text can name a fleet, a host, an instance or a chain. */
bool conf_name_ok(const char *text);

#endif
