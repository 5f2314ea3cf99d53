/* SPDX-License-Identifier: MIT */
/* The environment inside a configuration: ${NAME} in strings, expanded after parsing, so that no
 * value can become syntax. */
#include "core/conf_private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/buf.h"

enum { EXPANDED_LIMIT_BYTES = 64 << 10 };

const char *conf_override(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static size_t name_length(const char *text)
{
    size_t length = 0;
    while (isalpha((unsigned char)text[length]) || text[length] == '_' ||
           (length > 0 && isdigit((unsigned char)text[length]))) {
        length++;
    }
    return length;
}

/* Expands what stands between the braces. */
static int expand_one(const char *inside, size_t length, struct buf *out, struct tacho_err *err)
{
    char name[128];
    size_t named = name_length(inside);
    const char *rest = inside + named;
    size_t rest_length = length - named;
    if (named == 0 || named >= sizeof name || (rest_length > 0 && rest_length < 2) ||
        (rest_length >= 2 && (rest[0] != ':' || (rest[1] != '-' && rest[1] != '?')))) {
        return tacho_fail(err, TACHO_CONFIG,
                          "cannot understand ${%.*s}; write ${NAME}, ${NAME:-default} or "
                          "${NAME:?message}, and $${ for a plain ${",
                          (int)length, inside);
    }
    snprintf(name, sizeof name, "%.*s", (int)named, inside);
    const char *value = getenv(name);
    if (value && (*value || rest_length == 0)) {
        buf_puts(out, value);
        return TACHO_OK;
    }
    if (rest_length == 0) {
        return tacho_fail(err, TACHO_CONFIG,
                          "the environment variable %s is not set; ${%s:-default} would give it a "
                          "default",
                          name, name);
    }
    if (rest[1] == '?') {
        return tacho_fail(err, TACHO_CONFIG, "the environment variable %s is not set: %.*s", name,
                          (int)(rest_length - 2), rest + 2);
    }
    buf_put(out, rest + 2, rest_length - 2);
    return TACHO_OK;
}

static int expand(const char *text, struct buf *out, struct tacho_err *err)
{
    while (*text) {
        if (strncmp(text, "$${", 3) == 0) {
            buf_puts(out, "${");
            text += 3;
        } else if (strncmp(text, "${", 2) == 0) {
            const char *close = strchr(text, '}');
            if (!close) {
                return tacho_fail(err, TACHO_CONFIG,
                                  "\"${\" without \"}\"; write $${ for a plain ${");
            }
            if (expand_one(text + 2, (size_t)(close - text - 2), out, err) != TACHO_OK) {
                return TACHO_CONFIG;
            }
            text = close + 1;
        } else {
            buf_putc(out, *text++);
        }
    }
    return TACHO_OK;
}

const char *conf_expand(struct reader *reader, const char *text, struct tacho_err *err)
{
    if (!strstr(text, "${")) {
        return conf_keep(reader, text);
    }
    struct buf out;
    buf_init(&out, EXPANDED_LIMIT_BYTES);
    const char *result = NULL;
    if (expand(text, &out, err) == TACHO_OK) {
        buf_putc(&out, '\0');
        if (out.failed) {
            tacho_fail(err, TACHO_CONFIG, "is longer than 64 KiB after ${…}");
        } else {
            result = conf_keep(reader, out.data);
        }
    }
    buf_fini(&out);
    return result;
}

static void read_interval(struct reader *reader)
{
    static const struct tacho_option row = {
        .name = "interval", .type = TACHO_INT, .minimum = 1, .maximum = 86400000};
    char *text = (char *)conf_override("TACHO_POLL_INTERVAL_MS");
    struct option_text given = {.values = &text, .count = 1};
    struct tacho_err err = {0};
    if (!text) {
        return;
    }
    if (option_check(&row, &given, &err) != TACHO_OK) {
        conf_problem(reader, CONF_ENVIRONMENT, 0, "TACHO_POLL_INTERVAL_MS", "%s", err.text);
        return;
    }
    reader->interval = conf_keepf(reader, "%sms", text);
}

void conf_read_environment(struct reader *reader)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off"};
    const char *system = conf_override("TACHO_ENABLE_SYSTEM_METRICS");
    bool known = !system;
    read_interval(reader);
    for (size_t i = 0; system && i < TACHO_COUNT(yes); i++) {
        reader->no_system = reader->no_system || strcasecmp(system, no[i]) == 0;
        known = known || reader->no_system || strcasecmp(system, yes[i]) == 0;
    }
    if (!known) {
        conf_problem(reader, CONF_ENVIRONMENT, 0, "TACHO_ENABLE_SYSTEM_METRICS",
                     "expected true or false, not \"%s\"", system);
    }
}
