/* SPDX-License-Identifier: MIT */
/* tacho reload: makes the running daemon read its configuration again, and says what came of it. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/conf.h"
#include "core/control.h"

static const char usage[] =
    "usage: tacho reload [-c SOCKET] [--json]\n\n"
    "Makes the running daemon read its configuration again. What did not change keeps running; a\n"
    "file with problems changes nothing, and they are printed.\n\n"
    "  -c, --control PATH  control socket of the daemon (default: TACHO_CONTROL, or %s)\n"
    "      --json          the daemon's answer as it is\n\n"
    "Exit status: 0 applied, 2 usage, 69 no daemon, 75 no answer, 78 problems.\n";

static long long number(const json_t *reply, const char *name)
{
    return (long long)json_integer_value(json_object_get(reply, name));
}

static int print(const json_t *reply)
{
    if (json_is_true(json_object_get(reply, "applied"))) {
        printf("applied as generation %lld: %lld kept, %lld started, %lld stopped\n",
               number(reply, "generation"), number(reply, "kept"), number(reply, "started"),
               number(reply, "stopped"));
        return CMD_OK;
    }
    size_t index;
    json_t *problem;
    json_array_foreach(json_object_get(reply, "problems"), index, problem)
    {
        fprintf(stderr, "%s\n", json_string_value(problem));
    }
    fprintf(stderr, "tacho reload: not applied; the daemon goes on as before\n");
    return CMD_CONFIG;
}

static int ask(const char *control, bool as_json)
{
    struct tacho_err err = {0};
    char *text = NULL;
    int result = control_call(control, "tacho", "reload", "{}", 30 * NS_PER_S, &text, &err);
    if (result != TACHO_OK) {
        fprintf(stderr, "tacho reload: %s\n", err.text);
        return result == TACHO_UNSUPPORTED ? CMD_NONE : CMD_LATER;
    }
    json_t *reply = json_loads(text, 0, NULL);
    int status = CMD_CONFIG;
    if (as_json) {
        printf("%s\n", text);
        status = json_is_true(json_object_get(reply, "applied")) ? CMD_OK : CMD_CONFIG;
    } else {
        status = print(reply);
    }
    json_decref(reply);
    free(text);
    return status;
}

int cmd_reload(int argc, char **argv)
{
    static const struct option options[] = {{"control", required_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *control = conf_default_control();
    bool as_json = false;
    int option;
    while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
        switch (option) {
        case 'c': control = optarg; break;
        case 'j': as_json = true; break;
        case 'h': printf(usage, control); return CMD_OK;
        default: return CMD_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "tacho reload: cannot understand '%s'\n", argv[optind]);
        return CMD_USAGE;
    }
    return ask(control, as_json);
}
