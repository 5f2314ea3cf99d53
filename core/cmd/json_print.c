/* SPDX-License-Identifier: MIT */
/* JSON laid out again, token by token; see json_print.h. */
#include "core/cmd/json_print.h"

#include <string.h>

static void new_line(FILE *out, int depth)
{
    fprintf(out, "\n%*s", depth * 2, "");
}

/* Prints a string with its quotes and returns what follows it. */
static const char *print_string(FILE *out, const char *at)
{
    const char *end = at + 1;
    while (*end && *end != '"') {
        end += end[0] == '\\' && end[1] ? 2 : 1;
    }
    end += *end == '"';
    fwrite(at, 1, (size_t)(end - at), out);
    return end;
}

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

/* Opens an object or array; an empty one stays on its line. */
static const char *print_open(FILE *out, const char *at, int *depth)
{
    const char *next = skip_blank(at + 1);
    fputc(*at, out);
    if (*next == '}' || *next == ']') {
        fputc(*next, out);
        return next + 1;
    }
    new_line(out, ++*depth);
    return next;
}

static const char *print_token(FILE *out, const char *at, int *depth)
{
    switch (*at) {
    case '"': return print_string(out, at);
    case '{':
    case '[': return print_open(out, at, depth);
    case '}':
    case ']':
        new_line(out, --*depth);
        fputc(*at, out);
        return at + 1;
    case ',':
        fputc(',', out);
        new_line(out, *depth);
        return at + 1;
    case ':': fputs(": ", out); return at + 1;
    default: fputc(*at, out); return at + 1;
    }
}

void json_print(FILE *out, const char *json, bool pretty)
{
    int depth = 0;
    if (!pretty) {
        fputs(json, out);
    }
    for (const char *at = skip_blank(json); pretty && *at; at = skip_blank(at)) {
        at = print_token(out, at, &depth);
    }
    fputc('\n', out);
}
