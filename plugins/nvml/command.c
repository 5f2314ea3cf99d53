/* SPDX-License-Identifier: MIT */
/* Commands: letting go of the driver and taking it up again. */
#include "plugins/nvml/command.h"

#include <stdio.h>
#include <string.h>

#include "plugins/nvml/generation.h"

static void say(struct nvml *nvml, struct tacho_reply *reply, const char *text)
{
    nvml->host->reply(reply, text, strlen(text));
}

/* After this no descriptor of the driver is open, unless a call hangs in it. */
static void release(struct nvml *nvml, struct tacho_reply *reply)
{
    uint32_t hanging = 0;
    char text[96];
    nvml->released = true;
    nvml_unload(nvml);
    if (nvml->abandoned) {
        pthread_mutex_lock(&nvml->abandoned->lock);
        hanging = nvml->abandoned->running;
        pthread_mutex_unlock(&nvml->abandoned->lock);
    }
    (void)snprintf(text, sizeof text, "{\"released\":%s,\"calls_in_driver\":%u}",
                   hanging ? "false" : "true", hanging);
    say(nvml, reply, text);
}

int nvml_call(void *self, const char *command, const char *arguments_json,
              struct tacho_reply *reply, struct tacho_err *err)
{
    struct nvml *nvml = self;
    (void)arguments_json;
    if (strcmp(command, "release") == 0) {
        release(nvml, reply);
        return TACHO_OK;
    }
    if (strcmp(command, "resume") == 0) {
        nvml->released = false;
        say(nvml, reply, "{\"released\":false}");
        return TACHO_OK;
    }
    return tacho_fail(err, TACHO_CONFIG, "nvml has no command \"%s\"", command);
}
