/* SPDX-License-Identifier: MIT */
/* tacho status: what the running daemon does and how each of its instances is. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cmd/cmd.h"
#include "core/conf.h"
#include "core/control.h"
#include "core/units.h"

static const char usage[] =
    "usage: tacho status [-c SOCKET] [--json]\n\n"
    "Says what the running daemon does and how each of its instances is.\n\n"
    "  -c, --control PATH  control socket of the daemon (default: TACHO_CONTROL, or %s)\n"
    "      --json          the daemon's answer as it is\n\n"
    "Exit status: 0 all is well, 1 an instance is failing or stuck, 2 usage, 69 no daemon, 75 no "
    "answer.\n";

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));
    return value ? value : "";
}

static long long number(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static void print_daemon(const json_t *status)
{
    char memory[32], uptime[32];
    double seconds = json_real_value(json_object_get(status, "uptime"));
    printf("tacho %s on %s, fleet %s, session %lld, up %s\n", text(status, "version"),
           text(status, "host"), text(status, "fleet"), number(status, "session"),
           units_format_duration((int64_t)seconds * NS_PER_S, uptime, sizeof uptime));
    printf("configuration %s, hash %s, generation %lld, %lld rejected\n", text(status, "config"),
           text(status, "hash"), number(status, "generation"), number(status, "rejected"));
    printf("memory %s, %lld threads, %lld descriptors, %lld batches, %lld values\n\n",
           units_format_size(number(status, "memory"), memory, sizeof memory),
           number(status, "threads"), number(status, "descriptors"), number(status, "batches"),
           number(status, "values"));
}

static long long dropped(const json_t *instance)
{
    const json_t *counts = json_object_get(instance, "dropped");
    return number(counts, "overflow") + number(counts, "failed") + number(counts, "memory");
}

static void print_instance(const json_t *instance)
{
    printf("%-16s %-9s %-12s %-9s %10lld %8lld %8lld  %s\n", text(instance, "name"),
           text(instance, "role"), text(instance, "plugin"), text(instance, "state"),
           number(instance, "calls"), number(instance, "errors"), dropped(instance),
           text(instance, "problem"));
}

static bool is_bad(const json_t *instance)
{
    const char *state = text(instance, "state");
    return strcmp(state, "failing") == 0 || strcmp(state, "stuck") == 0;
}

static int print(const json_t *status, bool quiet)
{
    int result = CMD_OK;
    size_t index;
    json_t *instance;
    if (!quiet) {
        print_daemon(status);
        printf("%-16s %-9s %-12s %-9s %10s %8s %8s\n", "INSTANCE", "ROLE", "PLUGIN", "STATE",
               "CALLS", "ERRORS", "DROPPED");
    }
    json_array_foreach(json_object_get(status, "instances"), index, instance)
    {
        if (!quiet) {
            print_instance(instance);
        }
        result = is_bad(instance) ? CMD_NO : result;
    }
    return result;
}

static int ask(const char *control, bool as_json)
{
    struct tacho_err err = {0};
    char *reply = NULL;
    int result = control_call(control, "tacho", "status", "{}", 10 * NS_PER_S, &reply, &err);
    if (result != TACHO_OK) {
        fprintf(stderr, "tacho status: %s\n", err.text);
        return result == TACHO_UNSUPPORTED ? CMD_NONE : CMD_LATER;
    }
    if (as_json) {
        printf("%s\n", reply);
    }
    json_t *status = json_loads(reply, 0, NULL);
    int answer = print(status, as_json);
    json_decref(status);
    free(reply);
    return answer;
}

int cmd_status(int argc, char **argv)
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
        fprintf(stderr, "tacho status: cannot understand '%s'\n", argv[optind]);
        return CMD_USAGE;
    }
    return ask(control, as_json);
}
