/* SPDX-License-Identifier: MIT */
/* One group of `providers`, `sinks` or `services`: its plugin loaded, the core's keys and the
 * plugin's own read and checked. */
#include "core/conf_private.h"

#include <string.h>

#include "core/units.h"

enum { DAY_S = 86400 };

/* In the order of config show. */
static const struct tacho_option key_rows[] = {
    {.name = "plugin", .type = TACHO_STRING, .offset = offsetof(struct conf_keys, plugin)},
    {.name = "name", .type = TACHO_STRING, .offset = offsetof(struct conf_keys, name)},
    {.name = "enabled",
     .type = TACHO_BOOL,
     .offset = offsetof(struct conf_keys, enabled),
     .preset = "true"},
    {.name = "interval",
     .type = TACHO_DURATION,
     .offset = offsetof(struct conf_keys, interval_ns),
     .preset = "1s",
     .minimum = 0.001,
     .maximum = DAY_S},
    {.name = "phase",
     .type = TACHO_DURATION,
     .offset = offsetof(struct conf_keys, phase_ns),
     .preset = "0s",
     .minimum = 0,
     .maximum = DAY_S},
    {.name = "chain", .type = TACHO_STRING, .offset = offsetof(struct conf_keys, chain)},
    {.name = "deadline",
     .type = TACHO_DURATION,
     .offset = offsetof(struct conf_keys, deadline_ns),
     .minimum = 0.001,
     .maximum = 3600},
    {.name = "isolate", .type = TACHO_BOOL, .offset = offsetof(struct conf_keys, isolate)},
    {.name = "kill",
     .type = TACHO_BOOL,
     .offset = offsetof(struct conf_keys, kill),
     .preset = "false"},
    {.name = "queue",
     .type = TACHO_INT,
     .offset = offsetof(struct conf_keys, queue),
     .preset = "256",
     .minimum = 1,
     .maximum = 65536},
    {.name = "overflow",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct conf_keys, overflow),
     .preset = "drop_oldest",
     .choices = "drop_oldest|drop_newest|block"},
    {.name = "filter", .type = TACHO_STRINGS, .offset = offsetof(struct conf_keys, filter)},
};

const struct module conf_keys_module = {
    .plugin = {.name = "instance",
               .options_size = sizeof(struct conf_keys),
               .option_count = TACHO_COUNT(key_rows)},
    .options = key_rows,
};

const char *const conf_role_lists[] = {"providers", "sinks", "services"};
static const char *const role_names[] = {"provider", "sink", "service"};

/* Keys that not every role has. Batches do not go to a child process, so a sink cannot be isolated.
 */
static const struct {
    const char *key, *owners;
    bool roles[3];
} special_keys[] = {
    {"interval", "providers", {true, false, false}},
    {"phase", "providers", {true, false, false}},
    {"chain", "providers", {true, false, false}},
    {"isolate", "providers and services", {true, false, true}},
    {"kill", "providers and services", {true, false, true}},
    {"queue", "sinks and services", {false, true, true}},
    {"overflow", "sinks and services", {false, true, true}},
    {"filter", "sinks and services", {false, true, true}},
};

/* Whose key it is, when it is not one of this role; else NULL. */
static const char *key_owners(const char *key, int role)
{
    for (size_t i = 0; i < TACHO_COUNT(special_keys); i++) {
        if (strcmp(special_keys[i].key, key) == 0) {
            return special_keys[i].roles[role] ? NULL : special_keys[i].owners;
        }
    }
    return NULL;
}

bool conf_key_for_role(const char *key, int role)
{
    return key_owners(key, role) == NULL;
}

static bool has_role(const struct module *module, int role)
{
    switch (role) {
    case CONF_PROVIDER: return module->plugin.collect != NULL;
    case CONF_SINK: return module->plugin.consume != NULL;
    default: return module->plugin.call != NULL;
    }
}

struct name_list {
    const char *names[128];
    size_t count;
    struct reader *reader;
    const char *wanted;
    bool there;
};

static void add_name(void *context, const char *name, const char *path)
{
    struct name_list *list = context;
    (void)path;
    list->there = list->there || strcmp(name, list->wanted) == 0;
    if (list->count < TACHO_COUNT(list->names)) {
        list->names[list->count++] = conf_keep(list->reader, name);
    }
}

static void load_failed(struct conf_group *group, const struct node *node, const char *path)
{
    struct name_list list = {.reader = group->reader, .wanted = node->text};
    module_list(add_name, &list);
    char hint[96];
    conf_hint(node->text, list.names, list.count, hint, sizeof hint);
    conf_problem(group->reader, node->file, node->line, path, "there is no plugin \"%s\"%s",
                 node->text, *hint ? hint : "; `tacho plugin list` shows those that there are");
}

static void wrong_role(struct conf_group *group, const struct node *node, const char *path)
{
    int right = 0;
    while (right < 2 && !has_role(group->module, right)) {
        right++;
    }
    conf_problem(group->reader, node->file, node->line, path,
                 "plugin \"%s\" is no %s; it belongs in %s", node->text, role_names[group->role],
                 conf_role_lists[right]);
}

static bool is_listed(struct reader *reader, const char *name)
{
    struct name_list list = {.reader = reader, .wanted = name};
    module_list(add_name, &list);
    return list.there;
}

static void load_plugin(struct conf_group *group)
{
    struct reader *reader = group->reader;
    const struct node *node = conf_child(group->node, "plugin");
    struct tacho_err err = {0};
    if (!node || node->type != NODE_STRING || !*node->text) {
        return;
    }
    const char *path = conf_keepf(reader, "%s.plugin", group->path);
    const struct module *module = NULL;
    if (!strchr(node->text, '/') && !is_listed(reader, node->text)) {
        load_failed(group, node, path);
    } else if (module_load(node->text, &module, &err) != TACHO_OK ||
               option_check_presets(module, &err) != TACHO_OK) {
        conf_problem(reader, node->file, node->line, path, "%s", err.text);
    } else {
        group->module = module;
        if (!has_role(module, group->role)) {
            wrong_role(group, node, path);
        }
    }
}

static void unknown_key(struct conf_group *group, const struct node *node, const char *path)
{
    const char *names[256];
    size_t count = 0;
    for (size_t i = 0; i < TACHO_COUNT(key_rows); i++) {
        if (conf_key_for_role(key_rows[i].name, group->role)) {
            names[count++] = key_rows[i].name;
        }
    }
    for (uint32_t i = 0; i < group->module->plugin.option_count && count < 256; i++) {
        names[count++] = group->module->options[i].name;
    }
    char hint[96];
    conf_hint(node->name, names, count, hint, sizeof hint);
    const char *plugin = group->module->plugin.name;
    conf_problem(
        group->reader, node->file, node->line, path, "plugin \"%s\" has no such key%s", plugin,
        *hint ? hint : conf_keepf(group->reader, "; `tacho plugin show %s` lists them", plugin));
}

static void read_core_key(struct conf_group *group, const struct node *node)
{
    struct reader *reader = group->reader;
    const char *path = conf_keepf(reader, "%s.%s", group->path, node->name);
    const struct tacho_option *row = option_find(&conf_keys_module, node->name);
    const char *owners = row ? key_owners(row->name, group->role) : NULL;
    if (owners) {
        conf_problem(reader, node->file, node->line, path, "is a key of %s only", owners);
    } else if (row) {
        conf_table_set(reader, &group->keys, node, path, row);
    }
}

static void read_own_key(struct conf_group *group, const struct node *node)
{
    const char *path = conf_keepf(group->reader, "%s.%s", group->path, node->name);
    const struct tacho_option *row = option_find(group->module, node->name);
    if (row) {
        conf_table_set(group->reader, &group->own, node, path, row);
    } else if (!option_find(&conf_keys_module, node->name)) {
        unknown_key(group, node, path);
    }
}

static void check_required(struct conf_group *group)
{
    const struct node *node = group->node;
    const struct node *plugin = conf_child(node, "plugin");
    if (plugin && plugin->type == NODE_STRING && !*plugin->text) {
        conf_problem(group->reader, plugin->file, plugin->line,
                     conf_keepf(group->reader, "%s.plugin", group->path), "must not be empty");
    }
    if (!plugin) {
        conf_problem(group->reader, node->file, node->line, group->path,
                     "the key \"plugin\" is missing: it names the plugin");
    }
    for (uint32_t i = 0; group->module && i < group->module->plugin.option_count; i++) {
        const struct tacho_option *row = &group->module->options[i];
        if ((row->flags & TACHO_REQUIRED) && !conf_child(node, row->name)) {
            conf_problem(group->reader, node->file, node->line, group->path,
                         "the key \"%s\" is missing: %s", row->name,
                         row->help ? row->help : "the plugin needs it");
        }
    }
}

static void check_secrets(struct conf_group *group)
{
    for (uint32_t i = 0; i < group->own.count; i++) {
        const struct tacho_option *row = option_find(group->module, group->own.given[i].name);
        if (row->flags & TACHO_SECRET) {
            conf_check_secret(group->reader, group->own.nodes[i],
                              conf_keepf(group->reader, "%s.%s", group->path, row->name),
                              group->own.given[i].values[0]);
        }
    }
}

static void override_core(struct conf_group *group)
{
    struct reader *reader = group->reader;
    const struct tacho_option *enabled = option_find(&conf_keys_module, "enabled");
    const struct node *plugin = conf_child(group->node, "plugin");
    if (group->role != CONF_PROVIDER) {
        return;
    }
    if (reader->interval) {
        conf_table_override(reader, &group->keys, option_find(&conf_keys_module, "interval"),
                            "TACHO_POLL_INTERVAL_MS", reader->interval);
    }
    if (reader->no_system && plugin && plugin->type == NODE_STRING &&
        strcmp(plugin->text, "proc") == 0) {
        conf_table_override(reader, &group->keys, enabled, "TACHO_ENABLE_SYSTEM_METRICS", "false");
    }
}

static void override_own(struct conf_group *group)
{
    const char *rate = conf_override("TACHO_WS_MAX_RATE_HZ");
    const struct tacho_option *row = option_find(group->module, "ws_max_rate_hz");
    if (rate && row && group->role == CONF_SINK) {
        conf_table_override(group->reader, &group->own, row, "TACHO_WS_MAX_RATE_HZ", rate);
    }
}

/* Names and patterns, which no row can check. */
static void check_names(struct conf_group *group, const char *key, const char *text)
{
    const struct node *node = conf_child(group->node, key);
    const char *path = conf_keepf(group->reader, "%s.%s", group->path, key);
    if (node && *text && !conf_name_ok(text)) {
        conf_problem(group->reader, node->file, node->line, path,
                     "must be 1 to 63 letters, digits, \".\", \"_\" or \"-\", beginning with a "
                     "letter or digit, not \"%s\"",
                     text);
    } else if (node && strcmp(key, "name") == 0 && strcmp(text, "self") == 0) {
        conf_problem(group->reader, node->file, node->line, path,
                     "\"self\" is the name of the daemon's own metrics");
    }
}

static void check_filter(struct conf_group *group, const struct tacho_strings *filter)
{
    const struct node *node = conf_child(group->node, "filter");
    const char *path = conf_keepf(group->reader, "%s.filter", group->path);
    for (uint32_t i = 0; node && i < filter->count; i++) {
        const char *glob = filter->items[i] + (filter->items[i][0] == '!');
        if (!*glob) {
            conf_problem(group->reader, node->file, node->line, path,
                         "pattern %u is empty; \"*\" takes all sources", i + 1);
        } else if (strpbrk(glob, "! \t/,")) {
            conf_problem(group->reader, node->file, node->line, path,
                         "\"%s\" is no pattern of a source's name; write one string for each, as "
                         "in [ \"gpu*\", \"!sim\" ]",
                         filter->items[i]);
        }
    }
}

static void check_phase(struct conf_group *group, const struct conf_keys *keys)
{
    const struct node *node = conf_child(group->node, "phase");
    int at = conf_table_find(&group->keys, "interval");
    bool overridden = at >= 0 && !group->keys.nodes[at];
    if (node && !overridden && keys->phase_ns >= keys->interval_ns) {
        char text[32];
        conf_problem(group->reader, node->file, node->line,
                     conf_keepf(group->reader, "%s.phase", group->path),
                     "must be less than the interval, %s",
                     units_format_duration(keys->interval_ns, text, sizeof text));
    }
}

static void check_isolate(struct conf_group *group)
{
    const struct node *node = conf_child(group->node, "isolate");
    if (group->role == CONF_SERVICE && group->module->plugin.consume && group->decided->isolate) {
        conf_problem(group->reader, node->file, node->line,
                     conf_keepf(group->reader, "%s.isolate", group->path),
                     "plugin \"%s\" takes batches, which do not go to a process of its own",
                     group->module->plugin.name);
    }
}

static bool read_core(struct conf_group *group)
{
    struct tacho_err err = {0};
    void *keys = NULL;
    if (!conf_table_init(group->reader, &group->keys, &conf_keys_module)) {
        return false;
    }
    for (uint32_t i = 0; i < group->node->count; i++) {
        read_core_key(group, group->node->items[i]);
    }
    override_core(group);
    if (option_fill(&conf_keys_module, group->keys.given, group->keys.count, &keys, &err) !=
        TACHO_OK) {
        group->reader->no_memory = true; /* all else was checked key by key */
        return false;
    }
    group->decided = keys;
    return true;
}

void conf_group_read(struct conf_group *group)
{
    if (!read_core(group)) {
        return;
    }
    const struct conf_keys *keys = group->decided;
    check_names(group, "name", keys->name);
    check_names(group, "chain", keys->chain);
    check_filter(group, &keys->filter);
    check_phase(group, keys);
    if (keys->enabled) {
        load_plugin(group);
    }
    if (group->module && conf_table_init(group->reader, &group->own, group->module)) {
        for (uint32_t i = 0; i < group->node->count; i++) {
            read_own_key(group, group->node->items[i]);
        }
        override_own(group);
        check_secrets(group);
        check_isolate(group);
    }
    check_required(group);
}

void conf_group_fini(struct conf_group *group)
{
    option_free(&conf_keys_module, group->decided);
}
