/* SPDX-License-Identifier: MIT */
/* tacho config show: every value that counts, and where it came from. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/cmd/cmd.h"
#include "core/cmd/problems.h"
#include "core/conf.h"

static void print_help(void)
{
    fputs("usage: tacho config show [-c FILE] [--json]\n"
          "       tacho config hash [-c FILE]\n\n"
          "show  prints every value that counts and its origin: default, file:line, or the\n"
          "      variable of the environment. Secrets are masked.\n"
          "hash  prints a number that is the same as long as a reload would change nothing.\n\n"
          "Exit status: 0 good, 2 usage, 78 the configuration has problems.\n",
          stdout);
}

struct arguments {
    const char *verb, *file;
    int json;
};

static int parse(int argc, char **argv, struct arguments *out)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            print_help();
            return CMD_OK + 1;
        }
        if (strcmp(word, "--json") == 0) {
            out->json = 1;
        } else if (strcmp(word, "-c") == 0 && i + 1 < argc) {
            out->file = argv[++i];
        } else if (word[0] != '-' && !out->verb) {
            out->verb = word;
        } else if (word[0] != '-' && !out->file) {
            out->file = word;
        } else {
            fprintf(stderr, "tacho config: cannot understand '%s'; see 'tacho config --help'\n",
                    word);
            return CMD_USAGE + 1;
        }
    }
    if (!out->verb || (strcmp(out->verb, "show") != 0 && strcmp(out->verb, "hash") != 0)) {
        fputs("tacho config: say 'show' or 'hash'; see 'tacho config --help'\n", stderr);
        return CMD_USAGE + 1;
    }
    out->file = out->file ? out->file : conf_default_path();
    return 0;
}

static void print_json(const struct conf *conf)
{
    json_t *values = json_array();
    for (uint32_t i = 0; i < conf->value_count; i++) {
        const struct conf_value *value = &conf->values[i];
        json_array_append_new(values, json_pack("{s:s, s:s, s:s}", "path", value->path, "value",
                                                value->text, "origin", value->origin));
    }
    json_t *answer =
        json_pack("{s:s, s:s, s:o}", "file", conf->path, "hash", conf->hash_text, "values", values);
    json_dumpf(answer, stdout, JSON_INDENT(2));
    fputc('\n', stdout);
    json_decref(answer);
}

static void print_text(const struct conf *conf)
{
    int width = 0;
    for (uint32_t i = 0; i < conf->value_count; i++) {
        int length = (int)(strlen(conf->values[i].path) + strlen(conf->values[i].text)) + 4;
        width = length > width && length <= 64 ? length : width;
    }
    for (uint32_t i = 0; i < conf->value_count; i++) {
        const struct conf_value *value = &conf->values[i];
        int length = printf("%s = %s;", value->path, value->text);
        printf("%*s  # %s\n", width > length ? width - length : 0, "", value->origin);
    }
}

int cmd_config(int argc, char **argv)
{
    struct arguments arguments = {0};
    int done = parse(argc, argv, &arguments);
    if (done) {
        return done - 1;
    }
    struct conf *conf = NULL;
    struct conf_problems problems;
    if (conf_load(arguments.file, CONF_OFFLINE, &conf, &problems) != TACHO_OK) {
        cmd_print_problems(&problems, stderr);
        conf_problems_free(&problems);
        return CMD_CONFIG;
    }
    if (strcmp(arguments.verb, "hash") == 0) {
        puts(conf->hash_text);
    } else if (arguments.json) {
        print_json(conf);
    } else {
        print_text(conf);
    }
    conf_problems_free(&problems);
    conf_free(conf);
    return CMD_OK;
}
