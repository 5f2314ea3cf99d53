/* SPDX-License-Identifier: MIT */
/* What the unit tests of nvml share; see test_rig.h. */
#include "plugins/nvml/test_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

struct tacho_reply {
    char text[65536];
    size_t length;
};

static struct tacho_reply last_reply;

static void append_reply(struct tacho_reply *reply, const char *json, size_t length)
{
    if (reply->length + length < sizeof reply->text) {
        memcpy(reply->text + reply->length, json, length);
        reply->length += length;
        reply->text[reply->length] = '\0';
    }
}

static const char *script_path(void)
{
    static char path[512];
    if (!path[0]) {
        (void)snprintf(path, sizeof path, "%s/fake.nvml", harness_tmpdir());
        (void)setenv("FAKE_NVML", path, 1);
    }
    return path;
}

/* By a new file put in its place, so that the library never reads half of one. */
static void write_script(const char *script)
{
    char beside[600];
    (void)snprintf(beside, sizeof beside, "%s.new", script_path());
    FILE *file = fopen(beside, "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    (void)fputs(script, file);
    (void)fclose(file);
    (void)rename(beside, script_path());
}

void rig_script(const char *script)
{
    write_script(script);
    (void)usleep(40000);
}

void rig_open(struct rig *rig, const char *library, const char *script)
{
    const char *build = getenv("TACHO_BUILDDIR");
    memset(rig, 0, sizeof *rig);
    (void)snprintf(rig->library, sizeof rig->library, "%s/plugins/nvml/fake/.libs/%s.so",
                   build ? build : ".", library);
    write_script(script);
    fakehost_init(&rig->host, &tacho_plugin_v1);
    rig->host.table.reply = append_reply;
    rig->options.library = rig->library;
    rig->options.root = "/nowhere";
    rig->deadline_ns = INT64_C(1000000000);
    rig->self = fakehost_open(&rig->host, &rig->options, &rig->err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig->self);
}

void rig_close(struct rig *rig)
{
    fakehost_close(&rig->host, rig->self);
    fakehost_fini(&rig->host);
}

const struct tacho_batch *rig_collect(struct rig *rig)
{
    struct tacho_batch *batch = rig->host.table.batch_new(&rig->host.table);
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    rig->err = (struct tacho_err){.code = TACHO_OK};
    rig->result =
        tacho_plugin_v1.collect(rig->self, batch, clock_mono_ns() + rig->deadline_ns, &rig->err);
    batch_seal(batch, ++rig->host.seq);
    return batch;
}

double rig_number(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    return fakehost_number(batch, "gpu", gpu, metric);
}

const char *rig_text(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    const struct tacho_value *value = fakehost_find(batch, "gpu", gpu, metric);
    return value && value->type == TACHO_VALUE_TEXT ? value->as.text : NULL;
}

int rig_reason(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    const struct tacho_value *value = fakehost_find(batch, "gpu", gpu, metric);
    return value && value->type == TACHO_VALUE_ABSENT ? value->reason : 0;
}

const char *rig_call(struct rig *rig, const char *command)
{
    last_reply.length = 0;
    last_reply.text[0] = '\0';
    rig->err = (struct tacho_err){.code = TACHO_OK};
    rig->result = tacho_plugin_v1.call(rig->self, command, "{}", &last_reply, &rig->err);
    return last_reply.text;
}
