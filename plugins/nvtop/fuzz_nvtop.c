/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what is read from nvtop: any bytes give a batch that encodes, or a sentence. What the
 * splitter of the loop calls a whole array is not cut for the reader.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "plugins/nvtop/nvtop.h"
#include "tests/fakehost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_encodes(struct tacho_batch *batch)
{
    const void *out;
    size_t length;
    batch_seal(batch, 1);
    for (int format = TACHO_JSON; format <= TACHO_OPENMETRICS; format++) {
        if (encode_batch(batch, format, &out, &length) != TACHO_OK) {
            abort();
        }
    }
    batch_unref(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct nvtop_options options = {.proc = "/proc", .processes = 1};
    const char *text = (const char *)data;
    struct fakehost host;
    struct tacho_err err = {0};
    fakehost_init(&host, &tacho_plugin_v1);
    struct tacho_batch *batch = host.table.batch_new(&host.table);
    ssize_t whole = nvtop_json_array(text, size);
    int result = nvtop_fill(&host.table, &options, batch, text, size, &err);
    if ((result != TACHO_OK && !err.text[0]) || whole > (ssize_t)size ||
        (whole < 0 && batch->entity_count > 0)) {
        abort();
    }
    check_encodes(batch);
    fakehost_fini(&host);
    return 0;
}
