/* SPDX-License-Identifier: MIT */
/* The open request, taken apart; see isolate_request.h. */
#include "core/isolate_request.h"

#include <stdlib.h>
#include <string.h>

#include "core/isolate_wire.h"

enum { OPTION_LIMIT = 4096, VALUE_LIMIT = 65536 };

static int no_memory(struct tacho_err *err)
{
    return tacho_fail(err, TACHO_RETRY, "no memory for the options");
}

static int cut_short(struct tacho_err *err)
{
    return tacho_fail(err, TACHO_FATAL, "the parent's request is cut short");
}

/* One option with its values. */
static int take_option(struct isolate_request *request, const char *name, const char **at,
                       const char *end, struct tacho_err *err)
{
    const char *number = wire_take_text(at, end);
    unsigned long count = number ? strtoul(number, NULL, 10) : VALUE_LIMIT;
    if (count >= VALUE_LIMIT || request->option_count == OPTION_LIMIT) {
        return cut_short(err);
    }
    struct option_text *options =
        realloc(request->options, (request->option_count + 1) * sizeof *options);
    if (!options) {
        return no_memory(err);
    }
    request->options = options;
    struct option_text *option = &options[request->option_count++];
    *option = (struct option_text){.name = (char *)name, .values = calloc(count + 1, sizeof name)};
    if (!option->values) {
        return no_memory(err);
    }
    while (option->count < count) {
        const char *value = wire_take_text(at, end);
        if (!value) {
            return cut_short(err);
        }
        option->values[option->count++] = (char *)value;
    }
    return TACHO_OK;
}

int isolate_request_init(struct isolate_request *request, const char *at, const char *end,
                         struct tacho_err *err)
{
    const char **const texts[] = {&request->path, &request->name,      &request->fleet,
                                  &request->host, &request->state_dir, &request->interval};
    size_t length = (size_t)(end - at);
    *request = (struct isolate_request){.text = malloc(length + 1)};
    if (!request->text) {
        return no_memory(err);
    }
    memcpy(request->text, at, length);
    at = request->text;
    end = at + length;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i] = wire_take_text(&at, end);
        if (!*texts[i]) {
            return cut_short(err);
        }
    }
    int code = TACHO_OK;
    for (const char *name; code == TACHO_OK && (name = wire_take_text(&at, end));) {
        code = take_option(request, name, &at, end, err);
    }
    return code;
}

void isolate_request_fini(struct isolate_request *request)
{
    for (size_t i = 0; i < request->option_count; i++) {
        free(request->options[i].values);
    }
    free(request->options);
    free(request->text);
    *request = (struct isolate_request){0};
}
