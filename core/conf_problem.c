/* SPDX-License-Identifier: MIT */
/* The problems of a configuration: collected, sorted by place, printed. */
#include "core/conf_private.h"

#include <stdlib.h>
#include <string.h>

void conf_problem(struct reader *reader, const char *file, int line, const char *path,
                  const char *format, ...)
{
    struct conf_problems *problems = reader->problems;
    struct conf_problem *items =
        realloc(problems->items, (problems->count + 1) * sizeof *problems->items);
    if (!items) {
        reader->no_memory = true;
        return;
    }
    problems->items = items;
    struct conf_problem *item = &items[problems->count];
    va_list args;
    va_start(args, format);
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        text = NULL;
    }
    va_end(args);
    *item = (struct conf_problem){strdup(file), line, strdup(path), text};
    problems->count++;
}

const char *conf_hint(const char *name, const char *const *names, size_t count, char *out,
                      size_t size)
{
    const char *near = option_nearest(name, names, count);
    out[0] = '\0';
    if (near) {
        snprintf(out, size, "; did you mean \"%s\"?", near);
    }
    return out;
}

static uint32_t file_rank(const struct reader *reader, const char *file)
{
    uint32_t i = 0;
    while (i < reader->file_count && strcmp(reader->files[i].shown, file ? file : "") != 0) {
        i++;
    }
    return i;
}

/* Stable, and the list is short: problems of one place stay in the order they were found. */
void conf_problems_sort(struct reader *reader)
{
    struct conf_problem *items = reader->problems->items;
    for (uint32_t i = 1; i < reader->problems->count; i++) {
        struct conf_problem item = items[i];
        uint32_t rank = file_rank(reader, item.file), j = i;
        for (; j > 0; j--) {
            uint32_t other = file_rank(reader, items[j - 1].file);
            if (other < rank || (other == rank && items[j - 1].line <= item.line)) {
                break;
            }
            items[j] = items[j - 1];
        }
        items[j] = item;
    }
}

void conf_problem_print(const struct conf_problem *problem, char *out, size_t size)
{
    char line[16] = "";
    if (problem->line > 0) {
        snprintf(line, sizeof line, ":%d", problem->line);
    }
    const char *path = problem->path ? problem->path : "";
    snprintf(out, size, "%s%s: %s%s%s", problem->file ? problem->file : "?", line, path,
             *path ? ": " : "", problem->problem ? problem->problem : "out of memory");
}

void conf_problems_free(struct conf_problems *problems)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        free(problems->items[i].file);
        free(problems->items[i].path);
        free(problems->items[i].problem);
    }
    free(problems->items);
    *problems = (struct conf_problems){0};
}
