/* SPDX-License-Identifier: MIT */
/* tacho call INSTANCE COMMAND: runs a command of an instance in the running daemon. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/cmd/json_print.h"
#include "core/conf.h"
#include "core/control.h"
#include "core/units.h"

static const char usage[] =
    "usage: tacho call [OPTIONS] INSTANCE COMMAND [KEY=VALUE]...\n"
    "\n"
    "Runs a command of an instance in the running daemon and prints its answer, a JSON value.\n"
    "'tacho call tacho help' lists the daemon's own commands, 'tacho plugin show NAME' those of a\n"
    "plugin. A VALUE that is a JSON number, true or false is sent as such, all others as text.\n"
    "\n"
    "  -a, --args JSON       arguments as one JSON object; KEY=VALUE goes on top\n"
    "      --control PATH    control socket of the daemon (default: TACHO_CONTROL, or %s)\n"
    "  -t, --timeout TIME    give up after this time (default 10s; 0: never)\n"
    "      --compact         one line, also on a terminal\n"
    "\n"
    "exit status: 0 done, 1 the command failed, 2 wrong usage, 69 no daemon, 75 try again later\n";

struct call {
    const char *control;
    int64_t timeout_ns;
    json_t *arguments;
    bool compact;
};

static int complain(const char *problem, const char *what)
{
    fprintf(stderr, "tacho call: %s%s%s\n", problem, what ? ": " : "", what ? what : "");
    return CMD_USAGE;
}

/* A bare number, true or false; everything else is text, also what looks like an object. */
static json_t *typed_value(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (json_is_number(value) || json_is_boolean(value)) {
        return value;
    }
    json_decref(value);
    return json_string(text);
}

static int add_argument(json_t *arguments, const char *word)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word) {
        return complain("an argument is KEY=VALUE, not", word);
    }
    char *key = strndup(word, (size_t)(equals - word));
    json_t *value = typed_value(equals + 1);
    int failed = !key || !value || json_object_set_new(arguments, key, value) != 0;
    free(key);
    return failed ? complain("an argument must be UTF-8", word) : CMD_OK;
}

static int take_arguments(struct call *call, const char *text)
{
    json_error_t said;
    json_decref(call->arguments);
    call->arguments = json_loads(text, 0, &said);
    if (!call->arguments) {
        return complain("--args is not JSON", said.text);
    }
    return json_is_object(call->arguments) ? CMD_OK : complain("--args must be an object", text);
}

static int take_option(struct call *call, int option)
{
    switch (option) {
    case 'a': return take_arguments(call, optarg);
    case 'c': call->control = optarg; return CMD_OK;
    case 't':
        return units_parse_duration(optarg, &call->timeout_ns) == 0
                   ? CMD_OK
                   : complain("--timeout is no duration such as 10s", optarg);
    case 'C': call->compact = true; return CMD_OK;
    default: return CMD_USAGE;
    }
}

static int exit_of(int code)
{
    switch (code) {
    case TACHO_OK: return CMD_OK;
    case TACHO_UNSUPPORTED: return CMD_NONE;
    case TACHO_RETRY: return CMD_LATER;
    default: return CMD_NO;
    }
}

static int ask(const struct call *call, const char *instance, const char *command)
{
    struct tacho_err err = {0};
    char *reply = NULL;
    char *arguments = json_dumps(call->arguments, JSON_COMPACT);
    int code =
        control_call(call->control, instance, command, arguments, call->timeout_ns, &reply, &err);
    free(arguments);
    if (code != TACHO_OK) {
        fprintf(stderr, "tacho call: %s\n", err.text);
        return exit_of(code);
    }
    json_print(stdout, reply, !call->compact && isatty(STDOUT_FILENO));
    free(reply);
    return fflush(stdout) == 0 ? CMD_OK : CMD_NO;
}

static int run(struct call *call, int argc, char **argv)
{
    static const struct option options[] = {
        {"args", required_argument, NULL, 'a'},    {"control", required_argument, NULL, 'c'},
        {"timeout", required_argument, NULL, 't'}, {"compact", no_argument, NULL, 'C'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option, status;
    while ((option = getopt_long(argc, argv, "a:t:h", options, NULL)) != -1) {
        if (option == 'h') {
            printf(usage, conf_default_control());
            return CMD_OK;
        }
        if ((status = take_option(call, option)) != CMD_OK) {
            return status;
        }
    }
    if (argc - optind < 2) {
        return complain("INSTANCE and COMMAND are needed; see 'tacho call --help'", NULL);
    }
    for (int i = optind + 2; i < argc; i++) {
        if ((status = add_argument(call->arguments, argv[i])) != CMD_OK) {
            return status;
        }
    }
    return ask(call, argv[optind], argv[optind + 1]);
}

int cmd_call(int argc, char **argv)
{
    struct call call = {
        .control = conf_default_control(), .timeout_ns = 10 * NS_PER_S, .arguments = json_object()};
    int status = run(&call, argc, argv);
    json_decref(call.arguments);
    return status;
}
