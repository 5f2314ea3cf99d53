/* SPDX-License-Identifier: MIT */
/* tacho plugin metrics: the catalogue, which all providers of the same thing fill alike. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"
#include "core/cmd/plugin.h"
#include "core/metric.h"

static void print_text(const struct tacho_metric *metric)
{
    printf("%-34s %-10s %-8s %s\n", metric->name, metric->unit, metric_kind_name(metric->kind),
           metric->help ? metric->help : "");
}

static void print_row(const struct tacho_metric *metric)
{
    fputs("|", stdout);
    plugin_cell(metric->name);
    plugin_cell(metric->unit);
    plugin_cell(metric_kind_name(metric->kind));
    plugin_cell(metric->help);
    putchar('\n');
}

static json_t *object(const struct tacho_metric *metric)
{
    return json_pack("{s:s, s:s, s:s, s:s*, s:s}", "name", metric->name, "unit", metric->unit,
                     "kind", metric_kind_name(metric->kind), "flags", metric->flags, "help",
                     metric->help ? metric->help : "");
}

int plugin_metrics(int argc, char **argv)
{
    json_t *list = NULL;
    int markdown = 0;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        puts("usage: tacho plugin metrics [--json | --markdown]\n\n"
             "Prints the standard metrics: name, unit, kind, meaning. A plugin that measures one "
             "of\n"
             "them uses its name; names of its own are free.");
        return CMD_OK;
    }
    if (argc > 1 && strcmp(argv[1], "--json") == 0) {
        list = json_array();
    } else if (argc > 1 && strcmp(argv[1], "--markdown") == 0) {
        markdown = 1;
        puts("| Metric | Unit | Kind | Meaning |\n|---|---|---|---|");
    } else if (argc > 1) {
        fprintf(stderr, "tacho plugin metrics: cannot understand '%s'\n", argv[1]);
        return CMD_USAGE;
    }
    for (uint32_t id = 0; id < metric_count(); id++) {
        const struct metric *metric = metric_get(id);
        if (list) {
            json_array_append_new(list, object(&metric->desc));
        } else if (markdown) {
            print_row(&metric->desc);
        } else {
            print_text(&metric->desc);
        }
    }
    if (list) {
        json_dumpf(list, stdout, JSON_INDENT(2));
        fputc('\n', stdout);
        json_decref(list);
    }
    return CMD_OK;
}
