/* SPDX-License-Identifier: MIT */
/* Instances: what a checked group comes to, with all defaults and overrides decided, and what only
 * all of them together can tell: names given twice, the provider that is forced in a chain. */
#include "core/conf_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/units.h"

enum { SECOND_NS = 1000000000 };

/* A provider's call may take as long as its interval, within reason; a sink's disk or network gets
 * more. */
static int64_t default_deadline(int role, int64_t interval_ns)
{
    const int64_t least = SECOND_NS / 10, most = (int64_t)10 * SECOND_NS;
    if (role != CONF_PROVIDER || interval_ns > most) {
        return most;
    }
    return interval_ns < least ? least : interval_ns;
}

static void copy_filter(struct reader *reader, const struct tacho_strings *filter,
                        struct conf_instance *out)
{
    if (filter->count > 0) {
        out->filter = conf_alloc(reader, filter->count * sizeof *out->filter);
        for (uint32_t i = 0; out->filter && i < filter->count; i++) {
            out->filter[out->filter_count++] = conf_keep(reader, filter->items[i]);
        }
    }
}

static bool is_isolated(const struct conf_group *group)
{
    if (conf_table_find(&group->keys, "isolate") >= 0) {
        return group->decided->isolate != 0;
    }
    bool takes_batches = group->role != CONF_PROVIDER && group->module->plugin.consume;
    return (group->module->plugin.flags & TACHO_ISOLATE) && !takes_batches;
}

static void decide(struct conf_group *group, struct conf_instance *out)
{
    struct reader *reader = group->reader;
    const struct conf_keys *keys = group->decided;
    out->role = group->role;
    out->plugin = conf_keep(reader, group->module->plugin.name);
    out->name = conf_keep(reader, *keys->name ? keys->name : group->module->plugin.name);
    out->file = conf_keep(reader, group->node->file);
    out->line = group->node->line;
    out->module = group->module;
    if (group->role == CONF_PROVIDER) {
        out->interval_ns = keys->interval_ns;
        out->phase_ns = keys->phase_ns % keys->interval_ns;
    }
    out->deadline_ns =
        keys->deadline_ns ? keys->deadline_ns : default_deadline(group->role, keys->interval_ns);
    out->isolate = is_isolated(group);
    out->kill = keys->kill != 0;
    out->queue = (uint32_t)keys->queue;
    out->overflow = strcmp(keys->overflow, "block") == 0         ? CONF_BLOCK
                    : strcmp(keys->overflow, "drop_newest") == 0 ? CONF_DROP_NEWEST
                                                                 : CONF_DROP_OLDEST;
    out->chain = conf_keep(reader, keys->chain);
    copy_filter(reader, &keys->filter, out);
    out->given = group->own.given;
    out->given_count = group->own.count;
}

static void show(struct conf_group *group, const struct conf_instance *instance)
{
    struct reader *reader = group->reader;
    for (uint32_t i = 0; i < conf_keys_module.plugin.option_count; i++) {
        const struct tacho_option *row = &conf_keys_module.options[i];
        const char *path = conf_keepf(reader, "%s.%s", group->shown, row->name);
        char text[32];
        if (!conf_key_for_role(row->name, group->role)) {
            continue;
        }
        if (conf_table_find(&group->keys, row->name) >= 0) {
            conf_table_show_row(reader, &group->keys, group->shown, row);
        } else if (strcmp(row->name, "name") == 0) {
            conf_value_add(reader, path, conf_quote(reader, instance->name), "default");
        } else if (strcmp(row->name, "deadline") == 0) {
            units_format_duration(instance->deadline_ns, text, sizeof text);
            conf_value_add(reader, path, conf_quote(reader, text), "default");
        } else if (strcmp(row->name, "isolate") == 0) {
            conf_value_add(reader, path, instance->isolate ? "true" : "false", "default");
        } else {
            conf_table_show_row(reader, &group->keys, group->shown, row);
        }
    }
    conf_table_show(reader, &group->own, group->shown);
}

static bool make_room(struct reader *reader)
{
    struct conf *conf = reader->conf;
    if (conf->instance_count < reader->instance_room) {
        return true;
    }
    uint32_t room = reader->instance_room ? 2 * reader->instance_room : 16;
    struct conf_instance **items = conf_alloc(reader, room * sizeof *items);
    const char **shown = conf_alloc(reader, room * sizeof *shown);
    if (!items || !shown) {
        return false;
    }
    if (conf->instance_count > 0) {
        memcpy(items, conf->instances, conf->instance_count * sizeof *items);
        memcpy(shown, reader->shown, conf->instance_count * sizeof *shown);
    }
    conf->instances = items;
    reader->shown = shown;
    reader->instance_room = room;
    return true;
}

static void check_duplicate(struct reader *reader, const struct conf_group *group,
                            const struct conf_instance *instance)
{
    for (uint32_t i = 0; i < reader->conf->instance_count; i++) {
        const struct conf_instance *other = reader->conf->instances[i];
        const struct node *name = conf_child(group->node, "name");
        if (strcmp(other->name, instance->name) == 0) {
            conf_problem(reader, name ? name->file : instance->file,
                         name ? name->line : instance->line,
                         conf_keepf(reader, "%s.name", group->path),
                         "the name \"%s\" is taken by %s:%d; give one of them another `name`",
                         instance->name, other->file, other->line);
            return;
        }
    }
}

static void show_disabled(struct conf_group *group)
{
    static const char *const rows[] = {"plugin", "name", "enabled"};
    for (size_t i = 0; i < TACHO_COUNT(rows); i++) {
        if (conf_table_find(&group->keys, rows[i]) >= 0) {
            conf_table_show_row(group->reader, &group->keys, group->shown,
                                option_find(&conf_keys_module, rows[i]));
        }
    }
}

static void add_instance(struct conf_group *group, uint32_t problems_before)
{
    struct reader *reader = group->reader;
    struct conf_instance *instance = conf_alloc(reader, sizeof *instance);
    struct tacho_err err = {0};
    if (!instance || !make_room(reader)) {
        return;
    }
    decide(group, instance);
    check_duplicate(reader, group, instance);
    show(group, instance);
    if (reader->problems->count == problems_before &&
        option_fill(group->module, instance->given, instance->given_count, &instance->options,
                    &err) != TACHO_OK) {
        conf_problem(reader, instance->file, instance->line, group->path, "%s", err.text);
    }
    reader->shown[reader->conf->instance_count] = group->shown;
    reader->conf->instances[reader->conf->instance_count++] = instance;
}

static void read_group(struct reader *reader, const struct node *node, int role, uint32_t index,
                       uint32_t total)
{
    struct conf_group group = {
        .reader = reader,
        .node = node,
        .role = role,
        .path = conf_keepf(reader, "%s[%u]", conf_role_lists[role], index),
        .shown = conf_keepf(reader, "%s[%u]", conf_role_lists[role], total),
    };
    if (node->type != NODE_GROUP) {
        conf_problem(reader, node->file, node->line, group.path,
                     "expected a group: { plugin = \"…\"; }");
        return;
    }
    uint32_t before = reader->problems->count;
    conf_group_read(&group);
    if (group.module) {
        add_instance(&group, before);
    } else if (group.decided && !group.decided->enabled) {
        show_disabled(&group);
    }
    conf_group_fini(&group);
}

static void read_role(struct reader *reader, int role)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < reader->file_count; i++) {
        const struct node *root = reader->files[i].root;
        const struct node *list = root ? conf_child(root, conf_role_lists[role]) : NULL;
        if (list && list->type != NODE_LIST) {
            conf_problem(reader, list->file, list->line, list->name,
                         "expected a list of groups: ( { plugin = \"…\"; }, … )");
            continue;
        }
        for (uint32_t j = 0; list && j < list->count; j++) {
            read_group(reader, list->items[j], role, j, total++);
        }
    }
}

/* ---- the provider that is forced in its chain ---- */

/* By the instance's name; by its plugin's when no instance is called so. */
static bool is_forced(const struct reader *reader, const struct conf_instance *instance,
                      bool by_name)
{
    return instance->role == CONF_PROVIDER &&
           strcmp(by_name ? instance->name : instance->plugin, reader->forced) == 0;
}

static bool any_forced(const struct reader *reader, bool by_name, const char *chain)
{
    for (uint32_t i = 0; i < reader->conf->instance_count; i++) {
        const struct conf_instance *instance = reader->conf->instances[i];
        if (is_forced(reader, instance, by_name) &&
            (!chain || strcmp(instance->chain, chain) == 0)) {
            return true;
        }
    }
    return false;
}

static void problem_forced(struct reader *reader, const char *what, const char *hint)
{
    const struct node *at = reader->forced_at;
    conf_problem(reader, at ? at->file : CONF_ENVIRONMENT, at ? at->line : 0,
                 at ? "provider" : "TACHO_TELEMETRY_PROVIDER", "%s \"%s\"%s", what, reader->forced,
                 hint);
}

static void nobody_forced(struct reader *reader)
{
    const char *names[64];
    size_t count = 0;
    for (uint32_t i = 0; i < reader->conf->instance_count && count < 64; i++) {
        if (reader->conf->instances[i]->role == CONF_PROVIDER) {
            names[count++] = reader->conf->instances[i]->name;
        }
    }
    char hint[96];
    problem_forced(reader, "there is no provider",
                   conf_hint(reader->forced, names, count, hint, sizeof hint));
}

static void switch_off(struct reader *reader, uint32_t index)
{
    struct conf *conf = reader->conf;
    const char *path = conf_keepf(reader, "%s.enabled", reader->shown[index]);
    for (uint32_t i = 0; i < conf->value_count; i++) {
        if (strcmp(conf->values[i].path, path) == 0) {
            conf->values[i].text = conf_keep(reader, "false");
            conf->values[i].origin =
                conf_keepf(reader, "provider \"%s\" by %s", reader->forced,
                           reader->forced_at ? conf_origin(reader, reader->forced_at)
                                             : CONF_ENVIRONMENT " TACHO_TELEMETRY_PROVIDER");
        }
    }
    option_free(conf->instances[index]->module, conf->instances[index]->options);
    for (uint32_t i = index; i + 1 < conf->instance_count; i++) {
        conf->instances[i] = conf->instances[i + 1];
        reader->shown[i] = reader->shown[i + 1];
    }
    conf->instance_count--;
}

static void apply_forced(struct reader *reader)
{
    bool by_name = any_forced(reader, true, NULL);
    if (!by_name && !any_forced(reader, false, NULL)) {
        nobody_forced(reader);
        return;
    }
    if (any_forced(reader, by_name, "")) {
        problem_forced(reader, "there is nothing to choose: no `chain` is set for provider", "");
        return;
    }
    for (uint32_t i = 0; i < reader->conf->instance_count;) {
        const struct conf_instance *instance = reader->conf->instances[i];
        if (*instance->chain && !is_forced(reader, instance, by_name) &&
            any_forced(reader, by_name, instance->chain)) {
            switch_off(reader, i);
        } else {
            i++;
        }
    }
}

void conf_read_instances(struct reader *reader)
{
    for (int role = CONF_PROVIDER; role <= CONF_SERVICE; role++) {
        read_role(reader, role);
    }
    if (*reader->forced) {
        apply_forced(reader);
    }
}
