/* SPDX-License-Identifier: MIT */
/* tacho check: whether a configuration is good, and everything that is not. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"
#include "core/cmd/problems.h"
#include "core/conf.h"

struct arguments {
    const char *file;
    int mode;
    int json;
};

static void print_help(void)
{
    fputs("usage: tacho check [-c] [FILE] [--offline] [--json]\n\n"
          "Reads a configuration, loads the plugins that it names, and says all that is wrong\n"
          "with it, one line for each problem: file:line: path: problem.\n\n"
          "  FILE        default: TACHO_CONFIG, else the installed tacho.conf\n"
          "  --offline   check the file only: secret files need not be there\n"
          "  --json      {\"ok\", \"file\", \"hash\", \"problems\": [...]}\n\n"
          "Exit status: 0 good, 2 usage, 78 problems.\n",
          stdout);
}

/* 0, or an exit status + 1 when there is nothing left to do. */
static int parse(int argc, char **argv, struct arguments *out)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            print_help();
            return CMD_OK + 1;
        }
        if (strcmp(word, "--offline") == 0) {
            out->mode = CONF_OFFLINE;
        } else if (strcmp(word, "--json") == 0) {
            out->json = 1;
        } else if (strcmp(word, "-c") == 0 && i + 1 < argc) {
            out->file = argv[++i];
        } else if (word[0] != '-' && !out->file) {
            out->file = word;
        } else {
            fprintf(stderr, "tacho check: cannot understand '%s'; see 'tacho check --help'\n",
                    word);
            return CMD_USAGE + 1;
        }
    }
    out->file = out->file ? out->file : conf_default_path();
    return 0;
}

static void print_json(const char *file, const struct conf *conf,
                       const struct conf_problems *problems)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < problems->count; i++) {
        const struct conf_problem *item = &problems->items[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:s, s:s}", "file", item->file, "line",
                                        item->line, "path", item->path, "problem", item->problem));
    }
    json_t *answer = json_pack("{s:b, s:s, s:s*, s:o}", "ok", conf != NULL, "file", file, "hash",
                               conf ? conf->hash_text : NULL, "problems", list);
    json_dumpf(answer, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(answer);
}

static void print_good(const char *file, const struct conf *conf)
{
    unsigned counts[3] = {0};
    for (uint32_t i = 0; i < conf->instance_count; i++) {
        counts[conf->instances[i]->role]++;
    }
    printf("%s: OK: %u provider%s, %u sink%s, %u service%s\n", file, counts[0],
           counts[0] == 1 ? "" : "s", counts[1], counts[1] == 1 ? "" : "s", counts[2],
           counts[2] == 1 ? "" : "s");
}

int cmd_check(int argc, char **argv)
{
    struct arguments arguments = {.mode = CONF_FULL};
    int done = parse(argc, argv, &arguments);
    if (done) {
        return done - 1;
    }
    struct conf *conf = NULL;
    struct conf_problems problems;
    int result = conf_load(arguments.file, arguments.mode, &conf, &problems);
    if (arguments.json) {
        print_json(arguments.file, conf, &problems);
    } else if (result == TACHO_OK) {
        print_good(arguments.file, conf);
    } else {
        cmd_print_problems(&problems, stderr);
    }
    conf_problems_free(&problems);
    conf_free(conf);
    return result == TACHO_OK ? CMD_OK : CMD_CONFIG;
}
