/* SPDX-License-Identifier: MIT */
/* tacho status: what the running daemon does and how each of its instances is. */
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/cmd/ask.h"
#include "core/cmd/cmd.h"
#include "core/units.h"

static void print_daemon(const json_t *status)
{
    char memory[32], uptime[32];
    double seconds = json_real_value(json_object_get(status, "uptime"));
    printf("tacho %s on %s, fleet %s, session %lld, up %s\n", ask_text(status, "version"),
           ask_text(status, "host"), ask_text(status, "fleet"), ask_number(status, "session"),
           units_format_duration((int64_t)seconds * NS_PER_S, uptime, sizeof uptime));
    printf("configuration %s, hash %s, generation %lld, %lld rejected\n",
           ask_text(status, "config"), ask_text(status, "hash"), ask_number(status, "generation"),
           ask_number(status, "rejected"));
    printf("memory %s, %lld threads, %lld descriptors, %lld batches, %lld values\n\n",
           units_format_size(ask_number(status, "memory"), memory, sizeof memory),
           ask_number(status, "threads"), ask_number(status, "descriptors"),
           ask_number(status, "batches"), ask_number(status, "values"));
}

static long long dropped(const json_t *instance)
{
    const json_t *counts = json_object_get(instance, "dropped");
    return ask_number(counts, "overflow") + ask_number(counts, "failed") +
           ask_number(counts, "memory");
}

static void print_instance(const json_t *instance)
{
    printf("%-16s %-9s %-12s %-9s %10lld %8lld %8lld  %s\n", ask_text(instance, "name"),
           ask_text(instance, "role"), ask_text(instance, "plugin"), ask_text(instance, "state"),
           ask_number(instance, "calls"), ask_number(instance, "errors"), dropped(instance),
           ask_text(instance, "problem"));
}

static bool is_bad(const json_t *instance)
{
    const char *state = ask_text(instance, "state");
    return strcmp(state, "failing") == 0 || strcmp(state, "stuck") == 0;
}

static int answer(const json_t *status, bool quiet)
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

int cmd_status(int argc, char **argv)
{
    static const struct question question = {
        .name = "status",
        .summary = "Says what the running daemon does and how each of its instances is.",
        .exits = "0 all is well, 1 an instance is failing or stuck",
        .timeout_ns = 10 * NS_PER_S,
        .answer = answer,
    };
    return ask(&question, argc, argv);
}
