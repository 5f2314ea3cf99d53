/* SPDX-License-Identifier: MIT */
/* Whether a plugin's struct and tables make sense. Everything that the rest of the core takes for
 * granted about them is checked here, once. Presets are checked by option, which can read them. */
#include "core/module_private.h"

#include <stdalign.h>
#include <string.h>

#include "core/metric.h"

bool module_name_ok(const char *text)
{
    size_t length = 0;
    for (; text[length]; length++) {
        char c = text[length];
        bool letter = c >= 'a' && c <= 'z';
        bool later = (c >= '0' && c <= '9') || c == '_';
        if (!(letter || (length > 0 && later))) {
            return false;
        }
    }
    return length > 0 && length <= 48;
}

/* Keys that stand beside a plugin's own in its group of the configuration. */
static bool is_core_key(const char *name)
{
    static const char *const keys[] = {"plugin",   "name",    "interval", "phase",
                                       "deadline", "isolate", "kill",     "queue",
                                       "overflow", "filter",  "chain",    "enabled"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static size_t type_size(int type)
{
    switch (type) {
    case TACHO_BOOL: return sizeof(int32_t);
    case TACHO_INT:
    case TACHO_DURATION:
    case TACHO_SIZE: return sizeof(int64_t);
    case TACHO_FLOAT: return sizeof(double);
    case TACHO_STRING:
    case TACHO_CHOICE: return sizeof(const char *);
    case TACHO_STRINGS: return sizeof(struct tacho_strings);
    default: return 0;
    }
}

static int check_option(const struct module *module, uint32_t index, struct tacho_err *err)
{
    const struct tacho_option *row = &module->options[index];
    if (!row->name || !module_name_ok(row->name)) {
        return tacho_fail(
            err, TACHO_CONFIG,
            "option %u has the name \"%s\"; a name is lower-case letters, digits and _", index,
            row->name ? row->name : "");
    }
    if (is_core_key(row->name)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "option \"%s\" has the name of a key that every instance has; rename it",
                          row->name);
    }
    size_t size = type_size(row->type);
    if (size == 0) {
        return tacho_fail(err, TACHO_CONFIG, "option \"%s\" has the unknown type %d", row->name,
                          (int)row->type);
    }
    size_t alignment = row->type == TACHO_BOOL ? alignof(int32_t) : alignof(int64_t);
    if (row->offset % alignment != 0 || row->offset > module->plugin.options_size ||
        size > module->plugin.options_size - row->offset) {
        return tacho_fail(
            err, TACHO_CONFIG,
            "option \"%s\" lies at byte %u of an options struct of %u bytes; take its "
            "offset with offsetof",
            row->name, row->offset, module->plugin.options_size);
    }
    if (row->type == TACHO_CHOICE && (!row->choices || !*row->choices)) {
        return tacho_fail(err, TACHO_CONFIG, "option \"%s\" is a choice without choices",
                          row->name);
    }
    if ((row->flags & TACHO_SECRET) && row->type != TACHO_STRING) {
        return tacho_fail(err, TACHO_CONFIG,
                          "option \"%s\" is a secret, so it must be a TACHO_STRING: the path of a "
                          "file",
                          row->name);
    }
    return TACHO_OK;
}

static bool overlap(const struct tacho_option *one, const struct tacho_option *other)
{
    return one->offset < other->offset + type_size(other->type) &&
           other->offset < one->offset + type_size(one->type);
}

static int check_options(const struct module *module, struct tacho_err *err)
{
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        if (check_option(module, i, err) != TACHO_OK) {
            return TACHO_CONFIG;
        }
        for (uint32_t j = 0; j < i; j++) {
            const struct tacho_option *one = &module->options[j], *other = &module->options[i];
            if (strcmp(one->name, other->name) == 0) {
                return tacho_fail(err, TACHO_CONFIG, "option \"%s\" is in the table twice",
                                  one->name);
            }
            if (overlap(one, other)) {
                return tacho_fail(err, TACHO_CONFIG,
                                  "options \"%s\" and \"%s\" lie over each other; check the types "
                                  "of their members",
                                  one->name, other->name);
            }
        }
    }
    return TACHO_OK;
}

static int check_metric(const struct tacho_metric *row, uint32_t index, struct tacho_err *err)
{
    if (!row->name || !metric_name_ok(row->name)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "metric %u has the name \"%s\"; a name is lower case and dotted, and "
                          "begins with a letter",
                          index, row->name ? row->name : "");
    }
    if (!row->unit || row->kind < TACHO_GAUGE || row->kind > TACHO_STATE) {
        return tacho_fail(err, TACHO_CONFIG, "metric \"%s\" needs a unit (or \"\") and a kind",
                          row->name);
    }
    const struct metric *known = metric_find(row->name);
    if (known && known->standard &&
        (strcmp(known->desc.unit, row->unit) != 0 || known->desc.kind != row->kind)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "metric \"%s\" is a %s in \"%s\" in the catalogue, not a %s in \"%s\"",
                          row->name, metric_kind_name(known->desc.kind), known->desc.unit,
                          metric_kind_name(row->kind), row->unit);
    }
    return TACHO_OK;
}

static int check_metrics(const struct module *module, struct tacho_err *err)
{
    for (uint32_t i = 0; i < module->plugin.metric_count; i++) {
        if (check_metric(&module->metrics[i], i, err) != TACHO_OK) {
            return TACHO_CONFIG;
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(module->metrics[i].name, module->metrics[j].name) == 0) {
                return tacho_fail(err, TACHO_CONFIG, "metric \"%s\" is in the table twice",
                                  module->metrics[i].name);
            }
        }
    }
    return TACHO_OK;
}

static int check_commands(const struct module *module, struct tacho_err *err)
{
    if (module->plugin.command_count > 0 && !module->plugin.call) {
        return tacho_fail(err, TACHO_CONFIG, "it has a table of commands but no function `call`");
    }
    for (uint32_t i = 0; i < module->plugin.command_count; i++) {
        const char *name = module->commands[i].name;
        if (!name || !module_name_ok(name)) {
            return tacho_fail(err, TACHO_CONFIG,
                              "command %u has the name \"%s\"; a name is lower-case letters, "
                              "digits and _",
                              i, name ? name : "");
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(name, module->commands[j].name) == 0) {
                return tacho_fail(err, TACHO_CONFIG, "command \"%s\" is in the table twice", name);
            }
        }
    }
    return TACHO_OK;
}

int module_check(const struct module *module, struct tacho_err *err)
{
    const struct tacho_plugin *plugin = &module->plugin;
    if (!plugin->name || !module_name_ok(plugin->name)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "its name is \"%s\"; a name is lower-case letters, digits and _",
                          plugin->name ? plugin->name : "");
    }
    if (!plugin->open || !plugin->close) {
        return tacho_fail(err, TACHO_CONFIG, "it lacks the function `%s`",
                          plugin->open ? "close" : "open");
    }
    if (!plugin->collect && !plugin->consume && !plugin->call) {
        return tacho_fail(err, TACHO_CONFIG,
                          "it has no role: it needs one of `collect`, `consume` and `call`");
    }
    if (check_options(module, err) != TACHO_OK || check_metrics(module, err) != TACHO_OK) {
        return TACHO_CONFIG;
    }
    return check_commands(module, err);
}
