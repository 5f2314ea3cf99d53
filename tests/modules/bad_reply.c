/* SPDX-License-Identifier: MIT */
/* Fails: commands */
#include "tests/modules/bad.h"

static const struct tacho_command commands[] = {
    {.name = "talk", .arguments = "", .help = "Answers with something else than JSON."},
};

static int call(void *context, const char *command, const char *arguments_json,
                struct tacho_reply *reply, struct tacho_err *err)
{
    struct self *self = context;
    (void)command;
    (void)arguments_json;
    (void)err;
    self->host->reply(reply, "{talk", 5);
    return TACHO_OK;
}

BAD_PLUGIN(TACHO_COMMANDS(commands), .open = good_open, .close = good_close, .call = call);
