/* SPDX-License-Identifier: MIT */
/*
 * One line of a program: checked as a whole first, then written, so that a line that is wrong
 * leaves nothing behind. Knows nothing of processes and pipes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plugins/exec/exec.h"

#define KIND_MAX 32
#define KEY_MAX 256
#define LABEL_LIMIT 64

int exec_record_init(struct exec_record *record, struct exec_names *names,
                     struct tacho_batch *batch, struct tacho_err *err)
{
    *record = (struct exec_record){
        .names = names, .batch = batch, .seen = json_object(), .values = json_object()};
    if (!record->seen || !record->values) {
        json_decref(record->seen);
        json_decref(record->values);
        return tacho_fail(err, TACHO_RETRY, "no memory for the output of a program");
    }
    return TACHO_OK;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Whether text is there, not empty and not too long. */
static bool text_ok(const char *text, size_t limit)
{
    return text && *text && strlen(text) <= limit;
}

static int check_values(struct exec_record *record, json_t *values, struct tacho_err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(values, name, value)
    {
        const struct exec_name *metric = exec_names_find(record->names, name, value, err);
        int result = metric ? exec_value_check(name, metric, value, err) : TACHO_RETRY;
        if (result != TACHO_OK) {
            return result;
        }
    }
    return TACHO_OK;
}

static int check_labels(const json_t *labels, struct tacho_err *err)
{
    const char *name;
    json_t *value;
    if (!labels) {
        return TACHO_OK;
    }
    if (!json_is_object(labels) || json_object_size(labels) > LABEL_LIMIT) {
        return tacho_fail(err, TACHO_RETRY,
                          "labels: an object of texts, at most %d, was expected, not %s",
                          LABEL_LIMIT, exec_json_type(labels));
    }
    json_object_foreach((json_t *)labels, name, value)
    {
        if (!text_ok(name, KEY_MAX) || !json_is_string(value)) {
            return tacho_fail(err, TACHO_RETRY, "label %.64s: a text was expected, not %s", name,
                              exec_json_type(value));
        }
    }
    return TACHO_OK;
}

/* What an entity is called in `seen`. */
static void place_of(const char *kind, const char *key, char out[KIND_MAX + KEY_MAX + 2])
{
    (void)snprintf(out, KIND_MAX + KEY_MAX + 2, "%s %s", kind, key);
}

/* What the entities of one line are called, while it is checked. */
struct roll {
    json_t *places; /* for repeats */
    json_t *keys;   /* for children */
};

/* An entity may come once, and after its parent. */
static int check_place(const struct exec_record *record, const json_t *entity,
                       const struct roll *roll, uint64_t number, struct tacho_err *err)
{
    char place[KIND_MAX + KEY_MAX + 2];
    const char *key = json_string_value(json_object_get(entity, "key"));
    const json_t *parent = json_object_get(entity, "parent");
    place_of(json_string_value(json_object_get(entity, "kind")), key, place);
    const json_t *earlier = json_object_get(record->seen, place);
    if (earlier || json_object_get(roll->places, place)) {
        return tacho_fail(err, TACHO_RETRY, "%s was given before, in line %" JSON_INTEGER_FORMAT,
                          place, earlier ? json_integer_value(earlier) : (json_int_t)number);
    }
    if (parent && !json_is_null(parent) &&
        !json_object_get(roll->keys, json_is_string(parent) ? json_string_value(parent) : "")) {
        return tacho_fail(err, TACHO_RETRY,
                          "parent of %s: the key of an earlier entity of this line was expected",
                          place);
    }
    if (json_object_set_new(roll->places, place, json_true()) != 0 ||
        json_object_set_new(roll->keys, key, json_true()) != 0) {
        return tacho_fail(err, TACHO_RETRY, "no memory for a line");
    }
    return TACHO_OK;
}

static int check_keys(json_t *object, const char *const *allowed, const char *what,
                      struct tacho_err *err)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        bool ok = false;
        for (uint32_t i = 0; allowed[i]; i++) {
            ok = ok || strcmp(allowed[i], name) == 0;
        }
        if (!ok) {
            return tacho_fail(err, TACHO_RETRY, "%s has the unknown member \"%.64s\"", what, name);
        }
    }
    return TACHO_OK;
}

/* "absent", names to reasons as in our own JSON, becomes values like the others. */
static int fold_absent(json_t *entity, json_t *values, struct tacho_err *err)
{
    json_t *absent = json_object_get(entity, "absent");
    const char *name;
    json_t *reason;
    if (absent && !json_is_object(absent)) {
        return tacho_fail(err, TACHO_RETRY, "absent: an object of names and reasons was expected");
    }
    json_object_foreach(absent, name, reason)
    {
        if (json_object_get(values, name)) {
            return tacho_fail(err, TACHO_RETRY, "%s cannot be both there and absent", name);
        }
        if (json_object_set_new(values, name, json_pack("{s:O}", "absent", reason)) != 0) {
            return tacho_fail(err, TACHO_RETRY, "no memory for a line");
        }
    }
    return TACHO_OK;
}

static int check_entity(struct exec_record *record, json_t *entity, const struct roll *roll,
                        uint64_t number, struct tacho_err *err)
{
    static const char *const members[] = {"kind",     "key",    "parent", "labels",
                                          "volatile", "values", "absent", NULL};
    if (!json_is_object(entity)) {
        return tacho_fail(err, TACHO_RETRY, "entities: a list of objects was expected, not of %s",
                          exec_json_type(entity));
    }
    const char *kind = json_string_value(json_object_get(entity, "kind"));
    const char *key = json_string_value(json_object_get(entity, "key"));
    json_t *values = json_object_get(entity, "values");
    if (!text_ok(kind, KIND_MAX) || !text_ok(key, KEY_MAX)) {
        return tacho_fail(err, TACHO_RETRY,
                          "an entity needs \"kind\" (1 to %d bytes) and \"key\" (1 to %d bytes)",
                          KIND_MAX, KEY_MAX);
    }
    if (!json_is_object(values)) {
        return tacho_fail(err, TACHO_RETRY,
                          "entity %s %.64s needs \"values\", an object of names and values", kind,
                          key);
    }
    int result = check_keys(entity, members, "an entity", err);
    result = result == TACHO_OK ? check_place(record, entity, roll, number, err) : result;
    result = result == TACHO_OK ? check_labels(json_object_get(entity, "labels"), err) : result;
    result = result == TACHO_OK ? fold_absent(entity, values, err) : result;
    return result == TACHO_OK ? check_values(record, values, err) : result;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static int kind_of(const char *text)
{
    static const char *const kinds[] = {[TACHO_GAUGE] = "gauge",
                                        [TACHO_COUNTER] = "counter",
                                        [TACHO_INFO] = "info",
                                        [TACHO_STATE] = "state"};
    for (int i = TACHO_GAUGE; i <= TACHO_STATE; i++) {
        if (strcmp(kinds[i], text) == 0) {
            return i;
        }
    }
    return 0;
}

/* The text of a member, `missing` when it is not there, NULL when it is no text. */
static const char *member_text(const json_t *object, const char *name, const char *missing)
{
    const json_t *value = json_object_get(object, name);
    return value ? json_string_value(value) : missing;
}

static int declare(struct exec_record *record, json_t *item, struct tacho_err *err)
{
    const char *kind = member_text(item, "kind", "gauge");
    struct tacho_metric metric = {.name = member_text(item, "name", NULL),
                                  .unit = member_text(item, "unit", ""),
                                  .kind = kind ? kind_of(kind) : 0,
                                  .help = member_text(item, "help", "")};
    if (!json_is_object(item) || !metric.name || !metric.unit || !metric.kind || !metric.help) {
        return tacho_fail(
            err, TACHO_RETRY,
            "metrics: objects with \"name\", \"unit\", \"kind\" (gauge, counter, info "
            "or state) and \"help\" were expected");
    }
    return exec_names_declare(record->names, &metric, err);
}

static int declare_all(struct exec_record *record, json_t *metrics, struct tacho_err *err)
{
    size_t index;
    json_t *item;
    if (metrics && !json_is_array(metrics)) {
        return tacho_fail(err, TACHO_RETRY, "metrics: a list was expected, not %s",
                          exec_json_type(metrics));
    }
    json_array_foreach(metrics, index, item)
    {
        int result = declare(record, item, err);
        if (result != TACHO_OK) {
            return result;
        }
    }
    return TACHO_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_values(struct exec_record *record, json_t *values)
{
    const struct tacho_host *host = record->names->host;
    const char *name;
    json_t *value;
    json_object_foreach(values, name, value)
    {
        struct tacho_err err = {0};
        const struct exec_name *metric = exec_names_find(record->names, name, value, &err);
        if (metric) {
            exec_value_put(host, record->batch, metric, value);
            record->values_written++;
        }
    }
}

static void put_entity(struct exec_record *record, json_t *entity, uint64_t number, json_t *indices)
{
    const struct tacho_host *host = record->names->host;
    const char *kind = json_string_value(json_object_get(entity, "kind"));
    const char *key = json_string_value(json_object_get(entity, "key"));
    const char *parent = json_string_value(json_object_get(entity, "parent"));
    int32_t above = parent ? (int32_t)json_integer_value(json_object_get(indices, parent)) : -1;
    bool comes_and_goes = json_is_true(json_object_get(entity, "volatile"));
    int32_t index =
        host->entity(record->batch, kind, key, above, comes_and_goes ? TACHO_VOLATILE : 0);
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(entity, "labels"), name, value)
    {
        host->label(record->batch, name, json_string_value(value));
    }
    put_values(record, json_object_get(entity, "values"));
    char place[KIND_MAX + KEY_MAX + 2];
    place_of(kind, key, place);
    (void)json_object_set_new(record->seen, place, json_integer((json_int_t)number));
    (void)json_object_set_new(indices, key, json_integer(index));
}

/* ---- forms ----------------------------------------------------------------------------------- */

static int check_entities(struct exec_record *record, json_t *entities, uint64_t number,
                          struct tacho_err *err)
{
    struct roll roll = {.places = json_object(), .keys = json_object()};
    size_t index;
    json_t *entity;
    int result =
        roll.places && roll.keys ? TACHO_OK : tacho_fail(err, TACHO_RETRY, "no memory for a line");
    json_array_foreach(entities, index, entity)
    {
        if (result == TACHO_OK) {
            result = check_entity(record, entity, &roll, number, err);
        }
    }
    json_decref(roll.places);
    json_decref(roll.keys);
    return result;
}

static int take_entities(struct exec_record *record, json_t *root, json_t *entities,
                         uint64_t number, struct tacho_err *err)
{
    static const char *const members[] = {"entities", "time", "metrics", NULL};
    size_t index;
    json_t *entity;
    if (!json_is_array(entities)) {
        return tacho_fail(err, TACHO_RETRY, "entities: a list was expected, not %s",
                          exec_json_type(entities));
    }
    int result = check_keys(root, members, "the line", err);
    result = result == TACHO_OK ? check_entities(record, entities, number, err) : result;
    if (result != TACHO_OK) {
        return result;
    }
    json_t *indices = json_object(); /* of entities by key, for their children */
    json_array_foreach(entities, index, entity)
    {
        put_entity(record, entity, number, indices);
    }
    json_decref(indices);
    return TACHO_OK;
}

/* Names and values of the host; kept until the end, since several lines may add to them. */
static int take_short(struct exec_record *record, json_t *root, struct tacho_err *err)
{
    const char *name;
    json_t *value;
    (void)json_object_del(root, "time");
    (void)json_object_del(root, "metrics");
    json_object_foreach(root, name, value)
    {
        if (json_object_get(record->values, name)) {
            return tacho_fail(err, TACHO_RETRY, "%s was given before, in an earlier line", name);
        }
    }
    int result = check_values(record, root, err);
    if (result == TACHO_OK && json_object_update(record->values, root) != 0) {
        result = tacho_fail(err, TACHO_RETRY, "no memory for a line");
    }
    return result;
}

static int take(struct exec_record *record, json_t *root, uint64_t number, struct tacho_err *err)
{
    json_t *entities = json_object_get(root, "entities");
    const json_t *time = json_object_get(root, "time");
    int64_t wall_ns = record->wall_ns;
    int result = time ? exec_time_parse(time, &wall_ns, err) : TACHO_OK;
    result =
        result == TACHO_OK ? declare_all(record, json_object_get(root, "metrics"), err) : result;
    if (result == TACHO_OK) {
        result = entities ? take_entities(record, root, entities, number, err)
                          : take_short(record, root, err);
    }
    if (result == TACHO_OK) {
        record->wall_ns = wall_ns;
    }
    return result;
}

int exec_record_line(struct exec_record *record, uint64_t number, const char *text, size_t length,
                     struct tacho_err *err)
{
    json_error_t where;
    struct tacho_err cause = {0};
    size_t blank = strspn(text, " \t\r");
    if (blank >= length) {
        return TACHO_OK;
    }
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where);
    if (!root) {
        return tacho_fail(err, TACHO_RETRY, "line %" PRIu64 ": not JSON: %s at byte %d", number,
                          where.text, where.position);
    }
    int result = json_is_object(root)
                     ? take(record, root, number, &cause)
                     : tacho_fail(&cause, TACHO_RETRY, "an object was expected, not %s",
                                  exec_json_type(root));
    json_decref(root);
    return result == TACHO_OK
               ? TACHO_OK
               : tacho_fail(err, TACHO_RETRY, "line %" PRIu64 ": %s", number, cause.text);
}

uint64_t exec_record_fini(struct exec_record *record)
{
    const struct tacho_host *host = record->names->host;
    if (json_object_size(record->values) > 0) {
        (void)host->entity(record->batch, "host", host->setting(host, TACHO_SETTING_HOST), -1, 0);
        put_values(record, record->values);
    }
    if (record->wall_ns > 0) {
        host->stamp(record->batch, record->wall_ns, 0);
    }
    json_decref(record->seen);
    json_decref(record->values);
    return record->values_written;
}
