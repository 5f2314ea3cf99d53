/* SPDX-License-Identifier: MIT */
/*
 * The metric registry: every metric that this process knows, from the catalogue, from the tables of
 * plugins, or from what a provider met at run time. Metrics get an id for the life of the process
 * and are never removed, so reading needs no lock. Any thread.
 */
#ifndef TACHO_CORE_METRIC_H
#define TACHO_CORE_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/plugin.h"

/* Bounds what untrusted input (a fleet's messages, a program's output) can make us remember. */
#define METRIC_LIMIT 16384
#define METRIC_NAME_MAX 96

struct metric {
    uint32_t id;
    bool standard;            /* from the catalogue */
    struct tacho_metric desc; /* strings are the registry's own */
    uint64_t hash;            /* of name, unit, kind and flags: the same on every machine */
    const char **flag_names;
    uint32_t flag_count;
};

/* The id of a metric, registered now if it is new; copied. A bad name, or a known name with another
 * unit or kind, gives TACHO_CONFIG and says what was expected. */
int metric_register(const struct tacho_metric *metric, uint32_t *out_id, struct tacho_err *err);

/* NULL when there is no such id or name. */
const struct metric *metric_get(uint32_t id);
const struct metric *metric_find(const char *name);

/* All metrics have ids 0 … metric_count() - 1; the catalogue's come first, in its order. */
uint32_t metric_count(void);

const char *metric_kind_name(int kind);

/* "gauge", "counter", "info", "state" to the kind, or 0. */
int metric_parse_kind(const char *text);

/* Whether text can be a name: lower case, dotted, begins with a letter, at most METRIC_NAME_MAX. */
bool metric_name_ok(const char *text);

#endif
