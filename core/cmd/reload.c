/* SPDX-License-Identifier: MIT */
/* tacho reload: makes the running daemon read its configuration again, and says what came of it. */
#include <stdio.h>

#include "core/clock.h"
#include "core/cmd/ask.h"
#include "core/cmd/cmd.h"

static void print_problems(const json_t *reply)
{
    size_t index;
    json_t *problem;
    json_array_foreach(json_object_get(reply, "problems"), index, problem)
    {
        fprintf(stderr, "%s\n", json_string_value(problem));
    }
    fprintf(stderr, "tacho reload: not applied; the daemon goes on as before\n");
}

static int answer(const json_t *reply, bool quiet)
{
    bool applied = json_is_true(json_object_get(reply, "applied"));
    if (!quiet && applied) {
        printf("applied as generation %lld: %lld kept, %lld started, %lld stopped\n",
               ask_number(reply, "generation"), ask_number(reply, "kept"),
               ask_number(reply, "started"), ask_number(reply, "stopped"));
    } else if (!quiet) {
        print_problems(reply);
    }
    return applied ? CMD_OK : CMD_CONFIG;
}

int cmd_reload(int argc, char **argv)
{
    static const struct question question = {
        .name = "reload",
        .summary = "Makes the running daemon read its configuration again. What did not change\n"
                   "keeps running; a file with problems changes nothing, and they are printed.",
        .exits = "0 applied, 78 problems",
        .timeout_ns = 30 * NS_PER_S,
        .answer = answer,
    };
    return ask(&question, argc, argv);
}
