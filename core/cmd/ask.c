/* SPDX-License-Identifier: MIT */
/* Questions to the daemon; see ask.h. */
#include "core/cmd/ask.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/cmd/cmd.h"
#include "core/conf.h"
#include "core/control.h"

static void print_help(const struct question *question)
{
    printf("usage: tacho %s [--control PATH] [--json]\n\n%s\n\n"
           "  --control PATH  control socket of the daemon (default: TACHO_CONTROL, or %s)\n"
           "  --json          the daemon's answer as it is\n\n"
           "Exit status: %s, 2 usage, 69 no daemon, 75 no answer.\n",
           question->name, question->summary, conf_default_control(), question->exits);
}

static int put(const struct question *question, const char *control, bool as_json)
{
    struct tacho_err err = {0};
    char *text = NULL;
    int result =
        control_call(control, "tacho", question->name, "{}", question->timeout_ns, &text, &err);
    if (result != TACHO_OK) {
        fprintf(stderr, "tacho %s: %s\n", question->name, err.text);
        return result == TACHO_UNSUPPORTED ? CMD_NONE : CMD_LATER;
    }
    if (as_json) {
        printf("%s\n", text);
    }
    json_t *reply = json_loads(text, 0, NULL);
    int status = question->answer(reply, as_json);
    json_decref(reply);
    free(text);
    return status;
}

int ask(const struct question *question, int argc, char **argv)
{
    static const struct option options[] = {{"control", required_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *control = conf_default_control();
    bool as_json = false;
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'c': control = optarg; break;
        case 'j': as_json = true; break;
        case 'h': print_help(question); return CMD_OK;
        default: return CMD_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "tacho %s: cannot understand '%s'\n", question->name, argv[optind]);
        return CMD_USAGE;
    }
    return put(question, control, as_json);
}

const char *ask_text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

long long ask_number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}
