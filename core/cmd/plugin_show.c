/* SPDX-License-Identifier: MIT */
/* tacho plugin show: a plugin's tables, for a person, a program, or its README. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"
#include "core/cmd/plugin.h"
#include "core/metric.h"
#include "core/option.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* "required", the preset, or "-". */
static const char *preset(const struct tacho_option *row)
{
    if (row->flags & TACHO_REQUIRED) {
        return "required";
    }
    return row->preset && *row->preset ? row->preset : "-";
}

static const char *type(const struct tacho_option *row)
{
    return row->flags & TACHO_SECRET ? "secret file" : option_type_name(row->type);
}

/* What may stand there: choices with commas, or the range. */
static const char *allowed(const struct tacho_option *row, char *out, size_t size)
{
    if (row->type != TACHO_CHOICE) {
        return option_range(row, out, size);
    }
    size_t used = 0;
    for (const char *c = or_empty(row->choices); *c && used + 3 < size; c++) {
        if (*c == '|') {
            out[used++] = ',';
        }
        out[used++] = *c == '|' ? ' ' : *c;
    }
    out[used] = '\0';
    return out;
}

/* ---- for a person ---- */

static void print_options(const struct module *module)
{
    char text[256];
    if (module->plugin.option_count > 0) {
        puts("\nOptions");
    }
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        const struct tacho_option *row = &module->options[i];
        allowed(row, text, sizeof text);
        printf("  %-18s %-12s %-14s %s%s%s%s\n", row->name, type(row), preset(row),
               or_empty(row->help), *text ? " (" : "", text, *text ? ")" : "");
    }
}

static void print_metrics(const struct module *module)
{
    if (module->plugin.metric_count > 0) {
        puts("\nMetrics");
    }
    for (uint32_t i = 0; i < module->plugin.metric_count; i++) {
        const struct tacho_metric *row = &module->metrics[i];
        printf("  %-34s %-10s %-8s %s\n", row->name, row->unit, metric_kind_name(row->kind),
               or_empty(row->help));
    }
}

static void print_commands(const struct module *module)
{
    if (module->plugin.command_count > 0) {
        puts("\nCommands");
    }
    for (uint32_t i = 0; i < module->plugin.command_count; i++) {
        const struct tacho_command *row = &module->commands[i];
        printf("  %s %s\n      %s\n", row->name, or_empty(row->arguments), or_empty(row->help));
    }
}

static void print_text(const struct module *module)
{
    char roles[64];
    const struct tacho_plugin *plugin = &module->plugin;
    printf("%s %s: %s\n", plugin->name, or_empty(plugin->version), or_empty(plugin->summary));
    printf("  roles      %s\n", plugin_roles(plugin, roles, sizeof roles));
    printf("  file       %s\n", module->path);
    printf("  ABI        %u.%u\n", plugin->abi_major, plugin->abi_minor);
    printf("  isolated   %s\n", plugin->flags & TACHO_ISOLATE ? "by default" : "when asked for");
    if (plugin->flags & TACHO_SYNTHETIC) {
        puts("  data       simulated, and marked so");
    }
    print_options(module);
    print_metrics(module);
    print_commands(module);
}

/* ---- for its README ---- */

static void print_preset(const struct tacho_option *row)
{
    if ((row->flags & TACHO_REQUIRED) || !row->preset || !*row->preset) {
        plugin_cell(row->flags & TACHO_REQUIRED ? "required" : "");
    } else {
        printf(" `%s` |", row->preset);
    }
}

static void markdown_options(const struct module *module)
{
    char text[256];
    puts("| Option | Type | Default | Allowed | Meaning |\n|---|---|---|---|---|");
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        const struct tacho_option *row = &module->options[i];
        printf("| `%s` |", row->name);
        plugin_cell(type(row));
        print_preset(row);
        plugin_cell(allowed(row, text, sizeof text));
        plugin_cell(row->help);
        putchar('\n');
    }
}

static void markdown_metrics(const struct module *module)
{
    puts("| Metric | Unit | Kind | Meaning |\n|---|---|---|---|");
    for (uint32_t i = 0; i < module->plugin.metric_count; i++) {
        const struct tacho_metric *row = &module->metrics[i];
        printf("| `%s` |", row->name);
        plugin_cell(row->unit);
        plugin_cell(metric_kind_name(row->kind));
        plugin_cell(row->help);
        putchar('\n');
    }
}

static void markdown_commands(const struct module *module)
{
    puts("| Command | Arguments | Meaning |\n|---|---|---|");
    for (uint32_t i = 0; i < module->plugin.command_count; i++) {
        const struct tacho_command *row = &module->commands[i];
        printf("| `%s` |", row->name);
        plugin_cell(row->arguments);
        plugin_cell(row->help);
        putchar('\n');
    }
}

static void print_markdown(const struct module *module)
{
    if (module->plugin.option_count > 0) {
        puts("### Options\n");
        markdown_options(module);
    }
    if (module->plugin.metric_count > 0) {
        puts("\n### Metrics\n");
        markdown_metrics(module);
    }
    if (module->plugin.command_count > 0) {
        puts("\n### Commands\n");
        markdown_commands(module);
    }
}

/* ---- for a program ---- */

static json_t *json_options(const struct module *module)
{
    json_t *list = json_array();
    char text[256];
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        const struct tacho_option *row = &module->options[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s*, s:b, s:b, s:s, s:s}", "name", row->name, "type",
                            option_type_name(row->type), "default", row->preset, "required",
                            (row->flags & TACHO_REQUIRED) != 0, "secret",
                            (row->flags & TACHO_SECRET) != 0, "allowed",
                            allowed(row, text, sizeof text), "help", or_empty(row->help)));
    }
    return list;
}

static json_t *json_metrics(const struct module *module)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < module->plugin.metric_count; i++) {
        const struct tacho_metric *row = &module->metrics[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s*, s:s}", "name", row->name, "unit",
                                        row->unit, "kind", metric_kind_name(row->kind), "flags",
                                        row->flags, "help", or_empty(row->help)));
    }
    return list;
}

static json_t *json_commands(const struct module *module)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < module->plugin.command_count; i++) {
        const struct tacho_command *row = &module->commands[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s}", "name", row->name, "arguments",
                                        or_empty(row->arguments), "help", or_empty(row->help)));
    }
    return list;
}

static void print_json(const struct module *module)
{
    const struct tacho_plugin *plugin = &module->plugin;
    json_t *answer = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:i, s:i, s:b, s:b, s:o, s:o, s:o}", "name", plugin->name,
        "version", or_empty(plugin->version), "summary", or_empty(plugin->summary), "roles",
        plugin_roles_json(plugin), "path", module->path, "abi_major", (int)plugin->abi_major,
        "abi_minor", (int)plugin->abi_minor, "isolate", (plugin->flags & TACHO_ISOLATE) != 0,
        "synthetic", (plugin->flags & TACHO_SYNTHETIC) != 0, "options", json_options(module),
        "metrics", json_metrics(module), "commands", json_commands(module));
    json_dumpf(answer, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(answer);
}

int plugin_show(int argc, char **argv)
{
    const char *name = NULL;
    void (*print)(const struct module *) = print_text;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            puts("usage: tacho plugin show NAME | PATH [--json | --markdown]\n\n"
                 "Prints what a plugin says of itself: its roles, options, metrics and commands.\n"
                 "A word with a slash is a path. --markdown gives the tables of its README.");
            return CMD_OK;
        }
        if (strcmp(argv[i], "--json") == 0) {
            print = print_json;
        } else if (strcmp(argv[i], "--markdown") == 0) {
            print = print_markdown;
        } else if (argv[i][0] != '-' && !name) {
            name = argv[i];
        } else {
            name = NULL;
            break;
        }
    }
    if (!name) {
        fputs("usage: tacho plugin show NAME | PATH [--json | --markdown]\n", stderr);
        return CMD_USAGE;
    }
    struct tacho_err err = {0};
    const struct module *module = NULL;
    if (module_load(name, &module, &err) != TACHO_OK ||
        option_check_presets(module, &err) != TACHO_OK) {
        fprintf(stderr, "tacho plugin show: %s\n", err.text);
        return CMD_NONE;
    }
    print(module);
    return CMD_OK;
}
