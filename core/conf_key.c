/* SPDX-License-Identifier: MIT */
/* Keys by tables: nodes against option rows, and the values as `tacho config show` prints them. The
 * core's own keys are rows too, so that one code checks all. */
#include "core/conf_private.h"

#include <stdlib.h>
#include <string.h>

#include "core/buf.h"

struct node *conf_child(const struct node *group, const char *name)
{
    for (uint32_t i = 0; i < group->count; i++) {
        if (strcmp(group->items[i]->name, name) == 0) {
            return group->items[i];
        }
    }
    return NULL;
}

bool conf_name_ok(const char *text)
{
    size_t length =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    return length > 0 && length < 64 && !text[length] && text[0] != '-' && text[0] != '.';
}

bool conf_table_init(struct reader *reader, struct conf_table *table, const struct module *module)
{
    size_t rows = module->plugin.option_count + 1;
    *table = (struct conf_table){
        .module = module,
        .given = conf_alloc(reader, rows * sizeof *table->given),
        .nodes = conf_alloc(reader, rows * sizeof *table->nodes),
        .instead = conf_alloc(reader, rows * sizeof *table->instead),
        .variables = conf_alloc(reader, rows * sizeof *table->variables),
    };
    return table->given && table->nodes && table->instead && table->variables;
}

int conf_table_find(const struct conf_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcmp(table->given[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static const char *node_type_name(const struct node *node)
{
    switch (node->type) {
    case NODE_GROUP: return "a group";
    case NODE_LIST: return "a list";
    case NODE_STRING: return "a string";
    case NODE_NUMBER: return "a number";
    default: return "a boolean";
    }
}

/* Whether a scalar of the file may stand for the row; strings may stand for all, as "${NAME}" is
 * one. */
static bool scalar_fits(const struct node *node, const struct tacho_option *row)
{
    switch (row->type) {
    case TACHO_STRING:
    case TACHO_CHOICE:
    case TACHO_STRINGS: return node->type == NODE_STRING;
    case TACHO_BOOL: return node->type == NODE_STRING || node->type == NODE_BOOL;
    default: return node->type == NODE_STRING || node->type == NODE_NUMBER;
    }
}

static const char *wanted(const struct tacho_option *row)
{
    switch (row->type) {
    case TACHO_BOOL: return "true or false";
    case TACHO_INT: return "a whole number";
    case TACHO_FLOAT: return "a number";
    case TACHO_DURATION: return "a duration such as \"500ms\" or \"10s\"";
    case TACHO_SIZE: return "a size such as \"8MiB\"";
    case TACHO_STRINGS: return "strings, as in [ \"a\", \"b\" ]";
    default: return "a string in quotes";
    }
}

static bool does_not_fit(struct reader *reader, const struct node *node, const char *path,
                         const struct tacho_option *row)
{
    if (node->type != NODE_BAD) {
        bool scalar = node->type != NODE_GROUP && node->type != NODE_LIST;
        conf_problem(reader, node->file, node->line, path, "expected %s, not %s", wanted(row),
                     scalar ? node->text : node_type_name(node));
    }
    return false;
}

static bool take_list(struct reader *reader, const struct node *node, const char *path,
                      const struct tacho_option *row, struct option_text *out)
{
    out->values = conf_alloc(reader, (node->count + 1) * sizeof *out->values);
    for (uint32_t i = 0; out->values && i < node->count; i++) {
        if (!scalar_fits(node->items[i], row)) {
            return does_not_fit(reader, node->items[i], path, row);
        }
        out->values[out->count++] = (char *)node->items[i]->text;
    }
    return out->values != NULL;
}

static bool take(struct reader *reader, const struct node *node, const char *path,
                 const struct tacho_option *row, struct option_text *out)
{
    *out = (struct option_text){.name = conf_keep(reader, row->name)};
    if (node->type == NODE_LIST && row->type == TACHO_STRINGS) {
        return take_list(reader, node, path, row, out);
    }
    if (!scalar_fits(node, row)) {
        return does_not_fit(reader, node, path, row);
    }
    out->values = conf_alloc(reader, sizeof *out->values);
    if (out->values) {
        out->values[out->count++] = (char *)node->text;
    }
    return out->values != NULL;
}

static void put(struct conf_table *table, const struct option_text *text, const struct node *node,
                const char *variable)
{
    int at = conf_table_find(table, text->name);
    if (at < 0) {
        at = (int)table->count++;
    }
    table->given[at] = *text;
    table->instead[at] = table->nodes[at];
    table->nodes[at] = node;
    table->variables[at] = variable;
}

void conf_table_set(struct reader *reader, struct conf_table *table, const struct node *node,
                    const char *path, const struct tacho_option *row)
{
    struct option_text text;
    struct tacho_err err = {0};
    if (!take(reader, node, path, row, &text)) {
        return;
    }
    if (option_check(row, &text, &err) != TACHO_OK) {
        conf_problem(reader, node->file, node->line, path, "%s", err.text);
        return;
    }
    put(table, &text, node, NULL);
}

void conf_table_override(struct reader *reader, struct conf_table *table,
                         const struct tacho_option *row, const char *variable, const char *text)
{
    struct option_text given = {.name = conf_keep(reader, row->name)};
    struct tacho_err err = {0};
    given.values = conf_alloc(reader, sizeof *given.values);
    if (!given.values) {
        return;
    }
    given.values[given.count++] = conf_keep(reader, text);
    if (option_check(row, &given, &err) != TACHO_OK) {
        conf_problem(reader, CONF_ENVIRONMENT, 0, variable, "%s", err.text);
        return;
    }
    put(table, &given, NULL, variable);
}

/* ---- values as shown ---- */

const char *conf_quote(struct reader *reader, const char *text)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    buf_putc(&out, '"');
    for (; *text; text++) {
        if (*text == '\n') {
            buf_puts(&out, "\\n");
            continue;
        }
        if (*text == '"' || *text == '\\') {
            buf_putc(&out, '\\');
        }
        buf_putc(&out, *text);
    }
    buf_put(&out, "\"", 2);
    const char *result = out.failed ? "\"\"" : conf_keep(reader, out.data);
    buf_fini(&out);
    return result;
}

static const char *show_list(struct reader *reader, const struct option_text *given)
{
    const char *text = "";
    for (uint32_t i = 0; i < given->count; i++) {
        text =
            conf_keepf(reader, "%s%s%s", text, i ? ", " : "", conf_quote(reader, given->values[i]));
    }
    return conf_keepf(reader, "[%s]", text);
}

static bool bare(const struct tacho_option *row, const char *text)
{
    bool numeric = strspn(text, "+-.0123456789") == strlen(text) && *text;
    return row->type == TACHO_BOOL || row->type == TACHO_INT || row->type == TACHO_FLOAT ||
           ((row->type == TACHO_DURATION || row->type == TACHO_SIZE) && numeric);
}

static const char *show_text(struct reader *reader, const struct tacho_option *row,
                             const struct option_text *given)
{
    if (row->flags & TACHO_SECRET) {
        return given->count && given->values[0][0] ? "(secret file)" : "\"\"";
    }
    if (row->type == TACHO_STRINGS) {
        return show_list(reader, given);
    }
    const char *text = given->values[0];
    return bare(row, text) ? text : conf_quote(reader, text);
}

static const char *show_preset(struct reader *reader, const struct tacho_option *row)
{
    if (!row->preset) {
        return row->type == TACHO_STRINGS                               ? "[]"
               : row->type == TACHO_STRING || row->type == TACHO_CHOICE ? "\"\""
               : row->type == TACHO_BOOL                                ? "false"
                                                                        : "0";
    }
    if (row->type == TACHO_STRINGS && strchr("([", row->preset[0])) {
        return *row->preset ? row->preset : "[]";
    }
    char *value = conf_keep(reader, row->preset);
    struct option_text text = {.values = &value, .count = 1};
    return show_text(reader, row, &text);
}

void conf_value_add(struct reader *reader, const char *path, const char *text, const char *origin)
{
    struct conf *conf = reader->conf;
    if (conf->value_count == reader->value_room) {
        uint32_t room = reader->value_room ? 2 * reader->value_room : 64;
        struct conf_value *values = conf_alloc(reader, room * sizeof *values);
        if (!values) {
            return;
        }
        if (conf->value_count > 0) {
            memcpy(values, conf->values, conf->value_count * sizeof *values);
        }
        conf->values = values;
        reader->value_room = room;
    }
    conf->values[conf->value_count++] = (struct conf_value){
        conf_keep(reader, path), conf_keep(reader, text), conf_keep(reader, origin)};
}

const char *conf_origin(struct reader *reader, const struct node *node)
{
    return conf_keepf(reader, "%s:%d", node->file, node->line);
}

void conf_table_show_row(struct reader *reader, const struct conf_table *table, const char *path,
                         const struct tacho_option *row)
{
    const char *whole = conf_keepf(reader, "%s%s%s", path, *path ? "." : "", row->name);
    int at = conf_table_find(table, row->name);
    if (at < 0) {
        conf_value_add(reader, whole, show_preset(reader, row), "default");
        return;
    }
    const char *origin = table->nodes[at]
                             ? conf_origin(reader, table->nodes[at])
                             : conf_keepf(reader, CONF_ENVIRONMENT " %s", table->variables[at]);
    if (table->instead[at]) {
        origin = conf_keepf(reader, "%s, instead of %s", origin,
                            conf_origin(reader, table->instead[at]));
    }
    conf_value_add(reader, whole, show_text(reader, row, &table->given[at]), origin);
}

void conf_table_show(struct reader *reader, const struct conf_table *table, const char *path)
{
    for (uint32_t i = 0; i < table->module->plugin.option_count; i++) {
        conf_table_show_row(reader, table, path, &table->module->options[i]);
    }
}
