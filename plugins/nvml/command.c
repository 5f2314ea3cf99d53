/* SPDX-License-Identifier: MIT */
/* Commands: letting go of the driver and taking it up again; what each GPU can tell. */
#include "plugins/nvml/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plugins/nvml/fill.h"
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

/* ---- capabilities ---------------------------------------------------------------------------- */

static void say_text(struct nvml *nvml, struct tacho_reply *reply, const char *text)
{
    say(nvml, reply, "\"");
    for (; *text; text++) {
        char one[8];
        bool plain = (unsigned char)*text >= 0x20 && *text != '"' && *text != '\\';
        (void)snprintf(one, sizeof one, plain ? "%c" : "\\u%04x", (unsigned char)*text);
        say(nvml, reply, one);
    }
    say(nvml, reply, "\"");
}

static const char *reason_name(int code)
{
    static const char *const names[] = {
        [TACHO_ABSENT_UNSUPPORTED] = "unsupported",
        [TACHO_ABSENT_DENIED] = "denied",
        [TACHO_ABSENT_LOST] = "lost",
        [TACHO_ABSENT_NOT_YET] = "not_yet",
        [TACHO_ABSENT_ERROR] = "error",
    };
    return names[nvml_code_reason(code)];
}

static void say_since(struct nvml *nvml, struct tacho_reply *reply, int64_t wall_ns)
{
    char text[48];
    time_t seconds = (time_t)(wall_ns / 1000000000);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) &&
        strftime(text, sizeof text, ",\"since\":\"%Y-%m-%dT%H:%M:%SZ\"", &parts) > 0) {
        say(nvml, reply, text);
    }
}

/* One metric: that it is there, or why not, and since when that is so. */
static void say_metric(struct nvml *nvml, struct tacho_reply *reply, int32_t metric,
                       const struct capability *capability)
{
    char text[128];
    say(nvml, reply, metric ? ",\"" : "\"");
    say(nvml, reply, tacho_plugin_v1.metrics[metric].name);
    if (!capability->asked) {
        say(nvml, reply, "\":{\"available\":false,\"reason\":\"not_asked\"}");
        return;
    }
    if (capability->code == NV_SUCCESS) {
        say(nvml, reply, "\":{\"available\":true");
    } else {
        (void)snprintf(text, sizeof text,
                       "\":{\"available\":false,\"reason\":\"%s\",\"code\":%d,\"message\":",
                       reason_name(capability->code), capability->code);
        say(nvml, reply, text);
        say_text(nvml, reply, nvml_lib_error(&nvml->generation->lib, capability->code));
    }
    say_since(nvml, reply, capability->since_ns);
    say(nvml, reply, "}");
}

static void say_gpu(struct nvml *nvml, struct tacho_reply *reply, const struct device *device)
{
    const struct slot *slot = &device->slot;
    say(nvml, reply, device->index ? ",{\"uuid\":" : "{\"uuid\":");
    say_text(nvml, reply, slot->identity.known.uuid);
    say(nvml, reply, ",\"name\":");
    say_text(nvml, reply, slot->identity.known.name);
    say(nvml, reply, ",\"status\":");
    say_text(nvml, reply, status_name(slot->asked ? DEVICE_STUCK : slot->status));
    say(nvml, reply, ",\"metrics\":{");
    for (int32_t metric = 0; metric < M_COUNT; metric++) {
        struct capability told = slot->capabilities[metric];
        if (metric == M_STATUS || metric == M_CALL_TIME) {
            told = (struct capability){.asked = true, .since_ns = slot->first_wall_ns};
        }
        say_metric(nvml, reply, metric, &told);
    }
    say(nvml, reply, "}}");
}

static void say_capabilities(struct nvml *nvml, struct tacho_reply *reply)
{
    struct generation *generation = nvml->generation;
    char text[64];
    (void)snprintf(text, sizeof text, "{\"generation\":%" PRIu64 ",\"driver\":", nvml->generations);
    say(nvml, reply, text);
    say_text(nvml, reply, nvml->driver_version);
    say(nvml, reply, ",\"gpus\":[");
    if (generation) {
        pthread_mutex_lock(&generation->lock);
        for (uint32_t i = 0; i < generation->device_count; i++) {
            say_gpu(nvml, reply, &generation->devices[i]);
        }
        pthread_mutex_unlock(&generation->lock);
    }
    say(nvml, reply, "]}");
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
    if (strcmp(command, "capabilities") == 0) {
        say_capabilities(nvml, reply);
        return TACHO_OK;
    }
    return tacho_fail(err, TACHO_CONFIG, "nvml has no command \"%s\"", command);
}
