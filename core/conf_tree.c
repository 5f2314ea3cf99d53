/* SPDX-License-Identifier: MIT */
/* One file into nodes of our own: what the rest of conf works on. The only user of libconfig. */
#include "core/conf_private.h"

#include <libconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tree {
    struct reader *reader;
    const char *path; /* of the file */
};

/* libconfig names an included file as the @include did, without the folder it took. */
static const char *shown_file(const struct tree *tree, const char *file)
{
    if (!file || strcmp(file, tree->path) == 0) {
        return tree->path;
    }
    return conf_join(tree->reader, tree->path, file);
}

/* The shortest text that reads back as the same number. */
static const char *number_text(struct reader *reader, double number)
{
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    return conf_keep(reader, text);
}

static const struct conf_overflow_at *find_overflow(const struct reader *reader,
                                                    const struct node *node, long long left)
{
    for (uint32_t i = 0; i < reader->overflow_count; i++) {
        const struct conf_overflow_at *at = &reader->overflows[i];
        if (at->line == node->line && at->left == left && strcmp(at->file, node->file) == 0) {
            return at;
        }
    }
    return NULL;
}

static void convert_whole(struct tree *tree, long long number, const char *path, struct node *node)
{
    const struct conf_overflow_at *overflow = find_overflow(tree->reader, node, number);
    node->type = overflow ? NODE_BAD : NODE_NUMBER;
    node->text = conf_keepf(tree->reader, "%lld", number);
    if (overflow && overflow->bits == 32) {
        conf_problem(tree->reader, node->file, node->line, path,
                     "%s does not fit in 32 bits; with an L behind it, as in %sL, it has 64",
                     overflow->text, overflow->text);
    } else if (overflow) {
        conf_problem(tree->reader, node->file, node->line, path, "%s does not fit in 64 bits",
                     overflow->text);
    }
}

static void convert_string(struct tree *tree, const char *text, const char *path, struct node *node)
{
    struct tacho_err err = {0};
    node->type = NODE_STRING;
    node->text = conf_expand(tree->reader, text ? text : "", &err);
    if (!node->text) {
        conf_problem(tree->reader, node->file, node->line, path, "%s", err.text);
        node->type = NODE_BAD;
    }
}

static void convert_scalar(struct tree *tree, const config_setting_t *setting, const char *path,
                           struct node *node)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT: convert_whole(tree, config_setting_get_int(setting), path, node); break;
    case CONFIG_TYPE_INT64:
        convert_whole(tree, config_setting_get_int64(setting), path, node);
        break;
    case CONFIG_TYPE_FLOAT:
        node->type = NODE_NUMBER;
        node->text = number_text(tree->reader, config_setting_get_float(setting));
        break;
    case CONFIG_TYPE_BOOL:
        node->type = NODE_BOOL;
        node->text = config_setting_get_bool(setting) ? "true" : "false";
        break;
    default: convert_string(tree, config_setting_get_string(setting), path, node); break;
    }
}

static struct node *convert(struct tree *tree, const config_setting_t *setting, const char *path);

static void convert_items(struct tree *tree, const config_setting_t *setting, const char *path,
                          struct node *node)
{
    int count = config_setting_length(setting);
    node->type = config_setting_is_group(setting) ? NODE_GROUP : NODE_LIST;
    node->items = conf_alloc(tree->reader, ((size_t)count + 1) * sizeof *node->items);
    for (int i = 0; node->items && i < count; i++) {
        const config_setting_t *item = config_setting_get_elem(setting, (unsigned)i);
        const char *name = config_setting_name(item);
        const char *below = name ? conf_keepf(tree->reader, "%s%s%s", path, *path ? "." : "", name)
                                 : conf_keepf(tree->reader, "%s[%d]", path, i);
        struct node *child = convert(tree, item, below);
        if (child) {
            node->items[node->count++] = child;
        }
    }
}

static struct node *convert(struct tree *tree, const config_setting_t *setting, const char *path)
{
    struct node *node = conf_alloc(tree->reader, sizeof *node);
    if (!node) {
        return NULL;
    }
    const char *name = config_setting_name(setting);
    node->name = conf_keep(tree->reader, name ? name : "");
    node->file = shown_file(tree, config_setting_source_file(setting));
    node->line = (int)config_setting_source_line(setting);
    if (config_setting_is_aggregate(setting)) {
        convert_items(tree, setting, path, node);
    } else {
        convert_scalar(tree, setting, path, node);
    }
    return node;
}

/* libconfig's words for what it met, and ours where those do not say what to do. */
static const char *explain(const char *text)
{
    static const struct {
        const char *theirs, *ours;
    } table[] = {
        {"syntax error",
         "syntax error; look for a missing \";\", \"=\", quote or bracket here or just before"},
        {"duplicate setting name", "this key stands in the same group twice"},
        {"mismatched element type in array",
         "the items of an array [ ] are all of one type; a list ( ) may mix them"},
        {"include file nesting too deep",
         "@include is nested too deep; does a file include itself?"},
    };
    for (size_t i = 0; text && i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(table[i].theirs, text) == 0) {
            return table[i].ours;
        }
    }
    return text ? text : "cannot be read";
}

static void report(struct tree *tree, const config_t *config)
{
    conf_problem(tree->reader, shown_file(tree, config_error_file(config)),
                 config_error_line(config), "", "%s", explain(config_error_text(config)));
}

struct node *conf_tree_read(struct reader *reader, const char *path)
{
    struct tree tree = {reader, path};
    const char *folder = conf_join(reader, path, ".");
    struct node *root = NULL;
    config_t config;
    config_init(&config);
    config_set_include_dir(&config, folder);
    if (config_read_file(&config, path) == CONFIG_TRUE) {
        root = convert(&tree, config_root_setting(&config), "");
    } else {
        report(&tree, &config);
    }
    config_destroy(&config);
    return root;
}
