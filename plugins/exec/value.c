/* SPDX-License-Identifier: MIT */
/* Values and times of a line: which JSON is right for a metric, and how it goes into a batch. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plugins/exec/exec.h"

const char *exec_json_type(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a text";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    case JSON_NULL:
    default: return "null";
    }
}

static int reason_of(const json_t *value)
{
    static const char *const names[] = {[TACHO_ABSENT_UNSUPPORTED] = "unsupported",
                                        [TACHO_ABSENT_DENIED] = "denied",
                                        [TACHO_ABSENT_LOST] = "lost",
                                        [TACHO_ABSENT_NOT_YET] = "not_yet",
                                        [TACHO_ABSENT_STALE] = "stale",
                                        [TACHO_ABSENT_ERROR] = "error"};
    if (json_is_null(value)) {
        return TACHO_ABSENT_ERROR;
    }
    const char *text = json_string_value(json_object_get(value, "absent"));
    for (int reason = 1; text && reason < (int)TACHO_COUNT(names); reason++) {
        if (strcmp(names[reason], text) == 0) {
            return reason;
        }
    }
    return 0;
}

/* The bit of a flag's name in "one|two|three", or -1. */
static int flag_bit(const char *flags, const char *name)
{
    size_t length = strlen(name);
    int bit = 0;
    while (length > 0 && bit < 64) {
        size_t word = strcspn(flags, "|");
        if (word == length && strncmp(flags, name, length) == 0) {
            return bit;
        }
        if (flags[word] == '\0') {
            break;
        }
        flags += word + 1;
        bit++;
    }
    return -1;
}

static int check_flags(const char *name, const struct exec_name *metric, const json_t *list,
                       struct tacho_err *err)
{
    size_t index;
    json_t *item;
    json_array_foreach(list, index, item)
    {
        const char *flag = json_string_value(item);
        if (!flag || flag_bit(metric->flags, flag) < 0) {
            return tacho_fail(err, TACHO_RETRY, "%s: a list of %s was expected", name,
                              metric->flags);
        }
    }
    return TACHO_OK;
}

int exec_value_check(const char *name, const struct exec_name *metric, const json_t *value,
                     struct tacho_err *err)
{
    bool texts = metric->kind == TACHO_INFO || metric->kind == TACHO_STATE;
    if (json_is_null(value)) {
        return TACHO_OK;
    }
    if (json_is_object(value)) {
        return reason_of(value) && json_object_size(value) == 1
                   ? TACHO_OK
                   : tacho_fail(err, TACHO_RETRY,
                                "%s: an object as value must be {\"absent\": REASON}, with one of "
                                "unsupported, denied, lost, not_yet, stale, error",
                                name);
    }
    if (metric->flags) {
        return json_is_array(value)
                   ? check_flags(name, metric, value, err)
                   : tacho_fail(err, TACHO_RETRY, "%s: a list of flags was expected, not %s", name,
                                exec_json_type(value));
    }
    if (texts != json_is_string(value) || json_is_array(value)) {
        return tacho_fail(err, TACHO_RETRY, "%s: %s was expected, not %s", name,
                          texts ? "a text" : "a number", exec_json_type(value));
    }
    return TACHO_OK;
}

static uint64_t flags_of(const struct exec_name *metric, const json_t *list)
{
    uint64_t bits = 0;
    size_t index;
    json_t *item;
    json_array_foreach(list, index, item)
    {
        bits |= UINT64_C(1) << flag_bit(metric->flags, json_string_value(item));
    }
    return bits;
}

void exec_value_put(const struct tacho_host *host, struct tacho_batch *batch,
                    const struct exec_name *metric, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING: host->text(batch, metric->index, json_string_value(value)); break;
    case JSON_INTEGER: host->i64(batch, metric->index, json_integer_value(value)); break;
    case JSON_REAL: host->f64(batch, metric->index, json_real_value(value)); break;
    case JSON_TRUE: host->i64(batch, metric->index, 1); break;
    case JSON_FALSE: host->i64(batch, metric->index, 0); break;
    case JSON_ARRAY: host->flags(batch, metric->index, flags_of(metric, value)); break;
    case JSON_OBJECT:
    case JSON_NULL:
    default: host->absent(batch, metric->index, reason_of(value)); break;
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

/* ".123" to nanoseconds; moves text behind it. */
static int64_t parse_fraction(const char **text)
{
    int64_t ns = 0;
    int64_t scale = EXEC_NS_PER_S;
    if (**text == '.') {
        (*text)++;
        while (**text >= '0' && **text <= '9') {
            scale /= 10;
            ns += (**text - '0') * scale;
            (*text)++;
        }
    }
    return ns;
}

/* "Z" or "+hh:mm" to seconds east of UTC; -1 when it is neither. */
static int parse_offset(const char *text, int64_t *out_s)
{
    int hours;
    int minutes;
    int end = 0;
    char sign;
    if (strcmp(text, "Z") == 0) {
        *out_s = 0;
        return 0;
    }
    if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &end) != 3 || end != 6 ||
        text[end] != '\0' || (sign != '+' && sign != '-') || hours > 23 || minutes > 59) {
        return -1;
    }
    *out_s = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return 0;
}

static int parse_rfc3339(const char *text, int64_t *out_ns)
{
    struct tm tm = {0};
    int end = 0;
    int64_t offset_s;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &end) != 6 ||
        end != 19 || tm.tm_year < 1970 || tm.tm_year > 2200 || tm.tm_mon < 1 || tm.tm_mon > 12 ||
        tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60) {
        return -1;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    text += end;
    int64_t ns = parse_fraction(&text);
    if (parse_offset(text, &offset_s) != 0) {
        return -1;
    }
    *out_ns = ((int64_t)timegm(&tm) - offset_s) * EXEC_NS_PER_S + ns;
    return *out_ns > 0 ? 0 : -1;
}

int exec_time_parse(const json_t *value, int64_t *out_wall_ns, struct tacho_err *err)
{
    if (json_is_integer(value) && json_integer_value(value) > 0) {
        *out_wall_ns = json_integer_value(value);
        return TACHO_OK;
    }
    if (json_is_string(value) && parse_rfc3339(json_string_value(value), out_wall_ns) == 0) {
        return TACHO_OK;
    }
    return tacho_fail(
        err, TACHO_RETRY,
        "time: RFC 3339 such as \"2026-01-31T23:59:59Z\", or nanoseconds since 1970 as "
        "a number, was expected");
}
