/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what exec reads from a program: bytes to lines, lines to a batch. The first byte of the
 * input says in which portions the rest comes. A line that is refused must say why and leave
 * nothing in the batch; what was accepted must encode.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/encode.h"
#include "plugins/exec/exec.h"
#include "tests/fakehost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_line(void *context, uint64_t number, const char *text, size_t length)
{
    struct exec_record *record = context;
    struct tacho_err err = {0};
    uint32_t entities = record->batch->entity_count;
    uint32_t values = record->batch->value_count;
    if (text && exec_record_line(record, number, text, length, &err) != TACHO_OK &&
        (!err.text[0] || record->batch->entity_count != entities ||
         record->batch->value_count != values)) {
        abort();
    }
}

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
    struct fakehost host;
    struct exec_names names;
    struct exec_record record;
    struct exec_lines lines;
    struct tacho_err err = {0};
    if (size < 1) {
        return 0;
    }
    size_t portion = (size_t)data[0] + 1;
    fakehost_init(&host, &tacho_plugin_v1);
    struct tacho_batch *batch = host.table.batch_new(&host.table);
    if (exec_names_init(&names, &host.table, &err) != TACHO_OK ||
        exec_record_init(&record, &names, batch, &err) != TACHO_OK) {
        abort();
    }
    exec_lines_init(&lines, 4096, on_line, &record);
    for (size_t at = 1; at < size; at += portion) {
        exec_lines_feed(&lines, (const char *)data + at, size - at < portion ? size - at : portion);
    }
    exec_lines_end(&lines);
    (void)exec_record_fini(&record);
    check_encodes(batch);
    exec_lines_fini(&lines);
    exec_names_fini(&names);
    fakehost_fini(&host);
    return 0;
}
