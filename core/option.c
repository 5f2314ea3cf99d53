/* SPDX-License-Identifier: MIT */
/* Option tables: finds the row, reads the text by its type, checks the range, and writes the value
 * into the options struct. The struct and all its strings are one arena, so that freeing needs no
 * table. */
#include "core/option.h"

#include <errno.h>
#include <math.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/units.h"

enum { OPTIONS_LIMIT_BYTES = 16 << 20 };

/* What option_fill hands out is `data`. */
struct filled {
    struct arena arena;
    alignas(max_align_t) char data[];
};

/* A value before it is written. */
struct value {
    int64_t integer; /* also booleans, durations and sizes */
    double number;
};

const char *option_type_name(int type)
{
    switch (type) {
    case TACHO_BOOL: return "boolean";
    case TACHO_INT: return "integer";
    case TACHO_FLOAT: return "number";
    case TACHO_STRING: return "string";
    case TACHO_DURATION: return "duration";
    case TACHO_SIZE: return "size";
    case TACHO_STRINGS: return "strings";
    case TACHO_CHOICE: return "choice";
    default: return "unknown";
    }
}

const struct tacho_option *option_find(const struct module *module, const char *name)
{
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        if (strcmp(module->options[i].name, name) == 0) {
            return &module->options[i];
        }
    }
    return NULL;
}

static int parse_int(const char *text, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
    if (*digits < '0' || *digits > '9') {
        return -1;
    }
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, base);
    if (errno != 0 || *end) {
        return -1;
    }
    *out = number;
    return 0;
}

static int parse_float(const char *text, double *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (*digits != '.' && (*digits < '0' || *digits > '9')) {
        return -1;
    }
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number)) {
        return -1;
    }
    *out = number;
    return 0;
}

/* The bound as a person would write it, in the row's unit. */
static const char *format_bound(const struct tacho_option *row, double bound, char *out,
                                size_t size)
{
    static const struct {
        double bytes;
        const char *name;
    } units[] = {{1099511627776., "TiB"}, {1073741824., "GiB"}, {1048576., "MiB"}, {1024., "KiB"}};
    if (row->type == TACHO_DURATION && bound >= 0 && bound < 9e9) {
        return units_format_duration(llround(bound * 1e9), out, size);
    }
    for (size_t i = 0; row->type == TACHO_SIZE && i < sizeof units / sizeof units[0]; i++) {
        if (bound > 0 && fmod(bound, units[i].bytes) == 0) {
            snprintf(out, size, "%.15g%s", bound / units[i].bytes, units[i].name);
            return out;
        }
    }
    snprintf(out, size, "%.15g%s", bound, row->type == TACHO_SIZE ? "B" : "");
    return out;
}

const char *option_range(const struct tacho_option *row, char *out, size_t size)
{
    char low[48], high[48];
    bool numeric = row->type == TACHO_INT || row->type == TACHO_FLOAT ||
                   row->type == TACHO_DURATION || row->type == TACHO_SIZE;
    out[0] = '\0';
    if (!numeric || !(row->minimum < row->maximum)) {
        return out;
    }
    format_bound(row, row->minimum, low, sizeof low);
    format_bound(row, row->maximum, high, sizeof high);
    /* A bound that nobody reaches only stands there because the table needs one. */
    if (row->maximum >= 1e15) {
        snprintf(out, size, "at least %s", low);
    } else {
        snprintf(out, size, "from %s to %s", low, high);
    }
    return out;
}

static int check_range(const struct tacho_option *row, double number, const char *text,
                       struct tacho_err *err)
{
    char range[112];
    if (!(row->minimum < row->maximum) || (number >= row->minimum && number <= row->maximum)) {
        return TACHO_OK;
    }
    return tacho_fail(err, TACHO_CONFIG, "must be %s, not %s",
                      option_range(row, range, sizeof range), text);
}

static int read_number(const struct tacho_option *row, const char *text, struct value *out,
                       struct tacho_err *err)
{
    switch (row->type) {
    case TACHO_INT:
        if (parse_int(text, &out->integer) != 0) {
            return tacho_fail(err, TACHO_CONFIG, "expected a whole number, not \"%s\"", text);
        }
        return check_range(row, (double)out->integer, text, err);
    case TACHO_FLOAT:
        if (parse_float(text, &out->number) != 0) {
            return tacho_fail(err, TACHO_CONFIG, "expected a number, not \"%s\"", text);
        }
        return check_range(row, out->number, text, err);
    case TACHO_DURATION:
        if (units_parse_duration(text, &out->integer) != 0) {
            return tacho_fail(
                err, TACHO_CONFIG,
                "expected a duration such as \"500ms\", \"10s\" or \"2h\", not \"%s\"", text);
        }
        return check_range(row, (double)out->integer / 1e9, text, err);
    default:
        if (units_parse_size(text, &out->integer) != 0) {
            return tacho_fail(err, TACHO_CONFIG,
                              "expected a size such as \"8MiB\" or \"1GB\", not \"%s\"", text);
        }
        return check_range(row, (double)out->integer, text, err);
    }
}

static int read_bool(const char *text, struct value *out, struct tacho_err *err)
{
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        return tacho_fail(err, TACHO_CONFIG, "expected true or false, not \"%s\"", text);
    }
    out->integer = text[0] == 't';
    return TACHO_OK;
}

/* Calls it a problem when text is none of the row's choices. */
static int check_choice(const struct tacho_option *row, const char *text, struct tacho_err *err)
{
    char copy[256];
    const char *names[32];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", row->choices ? row->choices : "");
    for (char *rest = copy, *name; count < 32 && (name = strsep(&rest, "|"));) {
        if (strcmp(name, text) == 0) {
            return TACHO_OK;
        }
        names[count++] = name;
    }
    char list[300];
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof list - 1; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = option_nearest(text, names, count);
    return tacho_fail(err, TACHO_CONFIG, "expected one of %s, not \"%s\"%s%s%s", list, text,
                      near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

static int read_value(const struct tacho_option *row, const struct option_text *given,
                      struct value *out, struct tacho_err *err)
{
    if (row->type == TACHO_STRINGS) {
        if ((row->flags & TACHO_REQUIRED) && given->count == 0) {
            return tacho_fail(err, TACHO_CONFIG, "needs at least one item");
        }
        return TACHO_OK;
    }
    if (given->count != 1) {
        return tacho_fail(err, TACHO_CONFIG, "expected one %s, not a list of %u",
                          option_type_name(row->type), given->count);
    }
    switch (row->type) {
    case TACHO_BOOL: return read_bool(given->values[0], out, err);
    case TACHO_CHOICE: return check_choice(row, given->values[0], err);
    case TACHO_STRING:
        if ((row->flags & TACHO_REQUIRED) && !given->values[0][0]) {
            return tacho_fail(err, TACHO_CONFIG, "must not be empty");
        }
        return TACHO_OK;
    default: return read_number(row, given->values[0], out, err);
    }
}

int option_check(const struct tacho_option *row, const struct option_text *given,
                 struct tacho_err *err)
{
    struct value value;
    return read_value(row, given, &value, err);
}

static int no_memory(struct tacho_err *err)
{
    return tacho_fail(err, TACHO_RETRY, "there is no memory for it");
}

static int write_strings(struct filled *filled, const struct tacho_option *row,
                         const struct option_text *given, struct tacho_err *err)
{
    struct tacho_strings strings = {.count = given->count};
    const char **items = arena_alloc(&filled->arena, (given->count + 1) * sizeof *items);
    if (!items) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < given->count; i++) {
        items[i] = arena_text(&filled->arena, given->values[i]);
        if (!items[i]) {
            return no_memory(err);
        }
    }
    items[given->count] = NULL;
    strings.items = items;
    memcpy(filled->data + row->offset, &strings, sizeof strings);
    return TACHO_OK;
}

static int write_text(struct filled *filled, const struct tacho_option *row, const char *text,
                      struct tacho_err *err)
{
    const char *copy = arena_text(&filled->arena, text);
    if (!copy) {
        return no_memory(err);
    }
    memcpy(filled->data + row->offset, &copy, sizeof copy);
    return TACHO_OK;
}

static int write_value(struct filled *filled, const struct tacho_option *row,
                       const struct option_text *given, struct tacho_err *err)
{
    struct value value = {0};
    int result = read_value(row, given, &value, err);
    if (result != TACHO_OK) {
        return result;
    }
    char *place = filled->data + row->offset;
    int32_t flag = (int32_t)value.integer;
    switch (row->type) {
    case TACHO_STRINGS: return write_strings(filled, row, given, err);
    case TACHO_STRING:
    case TACHO_CHOICE: return write_text(filled, row, given->values[0], err);
    case TACHO_BOOL: memcpy(place, &flag, sizeof flag); return TACHO_OK;
    case TACHO_FLOAT: memcpy(place, &value.number, sizeof value.number); return TACHO_OK;
    default: memcpy(place, &value.integer, sizeof value.integer); return TACHO_OK;
    }
}

/* The next item of a list preset, unquoted in place; NULL at the end. */
static char *next_item(char **rest)
{
    char *at = *rest + strspn(*rest, " ,");
    if (!*at) {
        return NULL;
    }
    char *item = at;
    if (*at == '"') {
        item = ++at;
        at += strcspn(at, "\"");
    } else {
        at += strcspn(at, " ,");
    }
    *rest = *at ? at + 1 : at;
    *at = '\0';
    return item;
}

/* A preset as if it were given. `copy` must live as long as the result; values has room for 64. */
static void split_preset(const struct tacho_option *row, char *copy, struct option_text *out)
{
    out->name = (char *)row->name;
    out->count = 0;
    size_t length = strlen(copy);
    if (row->type != TACHO_STRINGS || length < 2 || !strchr("([", copy[0])) {
        out->count = row->type == TACHO_STRINGS && length == 0 ? 0 : 1;
        out->values[0] = copy;
        return;
    }
    copy[length - 1] = '\0';
    char *rest = copy + 1;
    for (char *item; out->count < 64 && (item = next_item(&rest));) {
        out->values[out->count++] = item;
    }
}

/* Every pointer of the struct must be valid, given or not: "" and the empty list. */
static int write_preset(struct filled *filled, const struct tacho_option *row,
                        struct tacho_err *err)
{
    char *values[64];
    struct option_text text = {.values = values};
    if (!row->preset) {
        text.count = 0;
        return row->type == TACHO_STRINGS ? write_strings(filled, row, &text, err)
               : row->type == TACHO_STRING || row->type == TACHO_CHOICE
                   ? write_text(filled, row, "", err)
                   : TACHO_OK;
    }
    char *copy = strdup(row->preset);
    if (!copy) {
        return no_memory(err);
    }
    split_preset(row, copy, &text);
    int result = write_value(filled, row, &text, err);
    free(copy);
    return result;
}

static struct filled *new_filled(const struct module *module)
{
    struct filled *filled = calloc(1, sizeof *filled + module->plugin.options_size);
    if (filled) {
        arena_init(&filled->arena, OPTIONS_LIMIT_BYTES);
    }
    return filled;
}

static const struct option_text *find_given(const struct option_text *given, size_t count,
                                            const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(given[i].name, name) == 0) {
            return &given[i];
        }
    }
    return NULL;
}

static int fill_row(struct filled *filled, const struct tacho_option *row,
                    const struct option_text *given, struct tacho_err *err)
{
    struct tacho_err local = {0};
    if (given) {
        write_value(filled, row, given, &local);
    } else if (row->flags & TACHO_REQUIRED) {
        tacho_fail(&local, TACHO_CONFIG, "is required");
    } else {
        write_preset(filled, row, &local);
    }
    if (local.code != TACHO_OK) {
        return tacho_fail(err, local.code, "%s: %s", row->name, local.text);
    }
    return TACHO_OK;
}

int option_fill(const struct module *module, const struct option_text *given, size_t given_count,
                void **out_options, struct tacho_err *err)
{
    for (size_t i = 0; i < given_count; i++) {
        if (!option_find(module, given[i].name)) {
            return tacho_fail(err, TACHO_CONFIG, "%s: plugin %s has no such option", given[i].name,
                              module->plugin.name);
        }
    }
    struct filled *filled = new_filled(module);
    if (!filled) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < module->plugin.option_count; i++) {
        const struct tacho_option *row = &module->options[i];
        int result = fill_row(filled, row, find_given(given, given_count, row->name), err);
        if (result != TACHO_OK) {
            option_free(module, filled->data);
            return result;
        }
    }
    *out_options = filled->data;
    return TACHO_OK;
}

void option_free(const struct module *module, void *options)
{
    (void)module;
    if (options) {
        struct filled *filled = (void *)((char *)options - offsetof(struct filled, data));
        arena_fini(&filled->arena);
        free(filled);
    }
}

int option_check_presets(const struct module *module, struct tacho_err *err)
{
    struct filled *filled = new_filled(module);
    if (!filled) {
        return no_memory(err);
    }
    int result = TACHO_OK;
    for (uint32_t i = 0; i < module->plugin.option_count && result == TACHO_OK; i++) {
        struct tacho_err local = {0};
        result = write_preset(filled, &module->options[i], &local);
        if (result != TACHO_OK) {
            tacho_fail(err, result, "plugin %s: the preset of option \"%s\": %s", module->path,
                       module->options[i].name, local.text);
        }
    }
    option_free(module, filled->data);
    return result;
}
