/* SPDX-License-Identifier: MIT */
/*
 * The metrics that a program's lines speak of. A name that the daemon knows already (the catalogue,
 * other plugins) keeps its unit and kind; a new one is declared by the line or guessed from its
 * first value.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/exec/exec.h"

#define NAME_LIMIT 4096

int exec_names_init(struct exec_names *names, const struct tacho_host *host, struct tacho_err *err)
{
    *names = (struct exec_names){.host = host, .places = json_object()};
    return names->places ? TACHO_OK : tacho_fail(err, TACHO_RETRY, "no memory for metric names");
}

void exec_names_fini(struct exec_names *names)
{
    for (uint32_t i = 0; i < names->count; i++) {
        free(names->items[i].flags);
    }
    free(names->items);
    json_decref(names->places);
}

static const struct exec_name *known(const struct exec_names *names, const char *name)
{
    const json_t *place = json_object_get(names->places, name);
    return place ? &names->items[json_integer_value(place)] : NULL;
}

static bool make_room(struct exec_names *names)
{
    if (names->count < names->size) {
        return true;
    }
    uint32_t size = names->size ? names->size * 2 : 16;
    struct exec_name *items = realloc(names->items, size * sizeof *items);
    if (items) {
        names->items = items;
        names->size = size;
    }
    return items != NULL;
}

/* Remembers a metric that the host has accepted. */
static const struct exec_name *remember(struct exec_names *names, const struct tacho_metric *metric,
                                        int32_t index, struct tacho_err *err)
{
    char *flags = metric->flags ? strdup(metric->flags) : NULL;
    if ((metric->flags && !flags) || !make_room(names) ||
        json_object_set_new(names->places, metric->name, json_integer(names->count)) != 0) {
        free(flags);
        (void)tacho_fail(err, TACHO_RETRY, "no memory for metric %s", metric->name);
        return NULL;
    }
    struct exec_name *item = &names->items[names->count++];
    *item = (struct exec_name){.index = index, .kind = metric->kind, .flags = flags};
    return item;
}

static const struct exec_name *add(struct exec_names *names, const struct tacho_metric *metric,
                                   struct tacho_err *err)
{
    if (names->count == NAME_LIMIT) {
        (void)tacho_fail(err, TACHO_CONFIG,
                         "metric %s is one more than the %d that a program may "
                         "have",
                         metric->name, NAME_LIMIT);
        return NULL;
    }
    int32_t index = names->host->metric(names->host, metric, err);
    return index < 0 ? NULL : remember(names, metric, index, err);
}

/* The description under which the daemon knows a name. */
static bool find_registered(const struct tacho_host *host, const char *name,
                            struct tacho_metric *out)
{
    for (uint32_t id = 0; host->metric_info(id, out) == TACHO_OK; id++) {
        if (strcmp(out->name, name) == 0) {
            return true;
        }
    }
    return false;
}

int exec_names_declare(struct exec_names *names, const struct tacho_metric *metric,
                       struct tacho_err *err)
{
    /* The host also says so when the name is known as something else. */
    if (names->host->metric(names->host, metric, err) < 0) {
        return err->code ? err->code : TACHO_CONFIG;
    }
    if (known(names, metric->name)) {
        return TACHO_OK;
    }
    struct tacho_metric whole;
    bool found = find_registered(names->host, metric->name, &whole);
    return add(names, found ? &whole : metric, err) ? TACHO_OK : TACHO_CONFIG;
}

const struct exec_name *exec_names_find(struct exec_names *names, const char *name,
                                        const json_t *value, struct tacho_err *err)
{
    const struct exec_name *item = known(names, name);
    if (item) {
        return item;
    }
    struct tacho_metric metric;
    if (!find_registered(names->host, name, &metric)) {
        metric = (struct tacho_metric){.name = name,
                                       .unit = "",
                                       .kind = json_is_string(value) ? TACHO_INFO : TACHO_GAUGE,
                                       .help = "From a program of the user's own"};
    }
    return add(names, &metric, err);
}
