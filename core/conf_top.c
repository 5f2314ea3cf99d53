/* SPDX-License-Identifier: MIT */
/* The keys of the top of a configuration, over all its files. */
#include "core/conf_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/log.h"

struct top {
    const char *fleet, *host, *control, *state_dir, *log_level, *provider;
};

struct self {
    int32_t enabled;
    int64_t interval_ns;
};

static const struct tacho_option top_rows[] = {
    {.name = "fleet",
     .type = TACHO_STRING,
     .offset = offsetof(struct top, fleet),
     .preset = "default"},
    {.name = "host", .type = TACHO_STRING, .offset = offsetof(struct top, host), .preset = "auto"},
    {.name = "control", .type = TACHO_STRING, .offset = offsetof(struct top, control)},
    {.name = "state_dir", .type = TACHO_STRING, .offset = offsetof(struct top, state_dir)},
    {.name = "log_level",
     .type = TACHO_CHOICE,
     .offset = offsetof(struct top, log_level),
     .preset = "info",
     .choices = "error|warn|info|debug"},
    {.name = "provider",
     .type = TACHO_STRING,
     .offset = offsetof(struct top, provider),
     .preset = "auto"},
};

static const struct tacho_option self_rows[] = {
    {.name = "enabled",
     .type = TACHO_BOOL,
     .offset = offsetof(struct self, enabled),
     .preset = "true"},
    {.name = "interval",
     .type = TACHO_DURATION,
     .offset = offsetof(struct self, interval_ns),
     .preset = "10s",
     .minimum = 0.01,
     .maximum = 86400},
};

static const struct module top_module = {
    .plugin = {.name = "top",
               .options_size = sizeof(struct top),
               .option_count = TACHO_COUNT(top_rows)},
    .options = top_rows,
};

static const struct module self_module = {
    .plugin = {.name = "self",
               .options_size = sizeof(struct self),
               .option_count = TACHO_COUNT(self_rows)},
    .options = self_rows,
};

/* Keys that are no plain values and are read elsewhere. */
static const char *const other_keys[] = {"include", "providers", "sinks", "services", "self"};

static void unknown(struct reader *reader, const struct node *node, const char *path,
                    const struct module *module, bool top)
{
    const char *names[32];
    size_t count = 0;
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        names[count++] = module->options[i].name;
    }
    for (size_t i = 0; top && i < TACHO_COUNT(other_keys); i++) {
        names[count++] = other_keys[i];
    }
    char hint[96];
    conf_hint(node->name, names, count, hint, sizeof hint);
    conf_problem(reader, node->file, node->line, path, "unknown key%s",
                 *hint ? hint : "; tacho.conf(5) lists them");
}

static bool is_other(const char *name)
{
    for (size_t i = 0; i < TACHO_COUNT(other_keys); i++) {
        if (strcmp(other_keys[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void read_self(struct reader *reader, const struct node *node, struct conf_table *table)
{
    if (node->type != NODE_GROUP) {
        if (node->type != NODE_BAD) {
            conf_problem(reader, node->file, node->line, "self",
                         "expected a group: self = { enabled = true; interval = \"10s\"; };");
        }
        return;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *item = node->items[i];
        const char *path = conf_keepf(reader, "self.%s", item->name);
        const struct tacho_option *row = option_find(&self_module, item->name);
        if (row) {
            conf_table_set(reader, table, item, path, row);
        } else {
            unknown(reader, item, path, &self_module, false);
        }
    }
}

static void read_root(struct reader *reader, const struct node *root, struct conf_table *top,
                      struct conf_table *self)
{
    for (uint32_t i = 0; i < root->count; i++) {
        const struct node *node = root->items[i];
        const struct tacho_option *row = option_find(&top_module, node->name);
        if (row) {
            conf_table_set(reader, top, node, node->name, row);
        } else if (strcmp(node->name, "self") == 0) {
            read_self(reader, node, self);
        } else if (!is_other(node->name)) {
            unknown(reader, node, node->name, &top_module, true);
        }
    }
}

/* A problem with the value of a top row, at the place it came from. */
static void problem_at(struct reader *reader, const struct conf_table *table, const char *name,
                       const char *problem, const char *value)
{
    int at = conf_table_find(table, name);
    const struct node *node = at >= 0 ? table->nodes[at] : NULL;
    if (node) {
        conf_problem(reader, node->file, node->line, name, "%s, not \"%s\"", problem, value);
    } else {
        conf_problem(reader, CONF_ENVIRONMENT, 0, at >= 0 ? table->variables[at] : name,
                     "%s, not \"%s\"", problem, value);
    }
}

/* The short name of this machine, in what a topic or a metric label can take. */
static const char *own_host(struct reader *reader)
{
    char name[65] = "";
    gethostname(name, sizeof name - 1);
    name[strcspn(name, ".")] = '\0';
    for (char *c = name; *c; c++) {
        if (*c >= 'A' && *c <= 'Z') {
            *c = (char)(*c - 'A' + 'a');
        } else if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789_-", *c)) {
            *c = '-';
        }
    }
    name[63] = '\0';
    return conf_name_ok(name) ? conf_keep(reader, name) : "localhost";
}

static void decide_names(struct reader *reader, const struct conf_table *table,
                         const struct top *top)
{
    static const char allowed[] = "must be 1 to 63 letters, digits, \".\", \"_\" or \"-\", "
                                  "beginning with a letter or digit";
    struct conf *conf = reader->conf;
    bool automatic = !*top->host || strcmp(top->host, "auto") == 0;
    conf->fleet = conf_keep(reader, top->fleet);
    conf->host = conf_keep(reader, automatic ? own_host(reader) : top->host);
    if (!conf_name_ok(conf->fleet)) {
        problem_at(reader, table, "fleet", allowed, conf->fleet);
    }
    if (!conf_name_ok(conf->host)) {
        problem_at(reader, table, "host", allowed, conf->host);
    }
    conf_table_show_row(reader, table, "", option_find(&top_module, "fleet"));
    if (automatic) {
        int at = conf_table_find(table, "host");
        const struct node *node = at >= 0 ? table->nodes[at] : NULL;
        conf_value_add(reader, "host", conf_quote(reader, conf->host),
                       node ? conf_keepf(reader, "hostname, %s", conf_origin(reader, node))
                            : "hostname, default");
    } else {
        conf_table_show_row(reader, table, "", option_find(&top_module, "host"));
    }
}

static void decide_places(struct reader *reader, const struct conf_table *table,
                          const struct top *top)
{
    struct conf *conf = reader->conf;
    const char *state = conf_override("STATE_DIRECTORY");
    conf->control = conf_keep(reader, top->control);
    conf->state_dir = conf_keep(reader, top->state_dir);
    if (conf_table_find(table, "control") < 0) {
        conf->control = conf_keep(reader, conf_default_control());
        conf_value_add(reader, "control", conf_quote(reader, conf->control), "default");
    } else {
        conf_table_show_row(reader, table, "", option_find(&top_module, "control"));
    }
    if (strlen(conf->control) >= sizeof((struct sockaddr_un *)NULL)->sun_path) {
        problem_at(reader, table, "control", "the path of a socket has at most 107 bytes",
                   conf->control);
    }
    if (conf_table_find(table, "state_dir") < 0 && state) {
        /* systemd gives the folders of StateDirectory= here, joined by colons. */
        conf->state_dir = conf_keepf(reader, "%.*s", (int)strcspn(state, ":"), state);
        conf_value_add(reader, "state_dir", conf_quote(reader, conf->state_dir),
                       CONF_ENVIRONMENT " STATE_DIRECTORY");
    } else {
        conf_table_show_row(reader, table, "", option_find(&top_module, "state_dir"));
    }
}

static void decide_top(struct reader *reader, const struct conf_table *table)
{
    struct tacho_err err = {0};
    void *options = NULL;
    if (option_fill(&top_module, table->given, table->count, &options, &err) != TACHO_OK) {
        reader->no_memory = true; /* all else was checked key by key */
        return;
    }
    const struct top *top = options;
    decide_names(reader, table, top);
    decide_places(reader, table, top);
    reader->conf->log_level = log_parse_level(top->log_level);
    conf_table_show_row(reader, table, "", option_find(&top_module, "log_level"));
    conf_table_show_row(reader, table, "", option_find(&top_module, "provider"));
    int at = conf_table_find(table, "provider");
    reader->forced = strcmp(top->provider, "auto") == 0 ? "" : conf_keep(reader, top->provider);
    reader->forced_at = at >= 0 ? table->nodes[at] : NULL;
    option_free(&top_module, options);
}

static void decide_self(struct reader *reader, const struct conf_table *table)
{
    struct tacho_err err = {0};
    void *options = NULL;
    if (option_fill(&self_module, table->given, table->count, &options, &err) != TACHO_OK) {
        reader->no_memory = true;
        return;
    }
    const struct self *self = options;
    reader->conf->self = self->enabled != 0;
    reader->conf->self_interval_ns = self->interval_ns;
    conf_table_show(reader, table, "self");
    option_free(&self_module, options);
}

void conf_read_top(struct reader *reader)
{
    struct conf_table top, self;
    if (!conf_table_init(reader, &top, &top_module) ||
        !conf_table_init(reader, &self, &self_module)) {
        return;
    }
    for (uint32_t i = 0; i < reader->file_count; i++) {
        if (reader->files[i].root) {
            read_root(reader, reader->files[i].root, &top, &self);
        }
    }
    const char *level = conf_override("TACHO_LOG_LEVEL");
    const char *provider = conf_override("TACHO_TELEMETRY_PROVIDER");
    if (level) {
        conf_table_override(reader, &top, option_find(&top_module, "log_level"), "TACHO_LOG_LEVEL",
                            level);
    }
    if (provider) {
        conf_table_override(reader, &top, option_find(&top_module, "provider"),
                            "TACHO_TELEMETRY_PROVIDER", provider);
    }
    decide_top(reader, &top);
    decide_self(reader, &self);
}
