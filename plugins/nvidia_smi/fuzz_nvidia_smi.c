/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what nvidia_smi reads from its program. The first byte of the input says as what the rest
 * is read: documents one after the other, a table, a table of processes, a help text, a complaint.
 * A document that is refused must say why and leave an empty reading; what was accepted must
 * encode.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "plugins/nvidia_smi/nvidia_smi.h"
#include "tests/fakehost.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fill(struct smi *smi)
{
    const void *out;
    size_t length;
    struct tacho_batch *batch = smi->host->batch_new(smi->host);
    (void)smi_fill(smi, &smi->reading, batch);
    batch_seal(batch, 1);
    for (int format = TACHO_JSON; format <= TACHO_OPENMETRICS; format++) {
        if (encode_batch(batch, format, &out, &length) != TACHO_OK) {
            abort();
        }
    }
    batch_unref(batch);
}

static void read_documents(struct smi *smi, char *text, size_t length)
{
    size_t at;
    size_t size;
    while (smi_xml_find(text, length, &at, &size)) {
        struct tacho_err err = {0};
        if (smi_xml_parse(&smi->tree, text + at, size, &smi->reading, &err) == TACHO_OK) {
            check_fill(smi);
        } else if (!err.text[0] || smi->reading.row_count != 0) {
            abort();
        }
        text += at + size;
        length -= at + size;
    }
}

static void read_table(struct smi *smi, char *text)
{
    struct tacho_err err = {0};
    static const char help[] =
        "\"uuid\" or \"gpu_uuid\"\n\"memory.used\"\n\"power.draw\"\n\"index\"\n";
    smi_query_choose(&smi->query, help);
    if (smi_csv_parse(&smi->query, text, &smi->reading, &err) == TACHO_OK) {
        check_fill(smi);
    }
}

static void read_apps(struct smi *smi, char *text)
{
    char gpus[] = "memory.used, power.draw, uuid, index\n1, 2.5, GPU-1, 0\n";
    read_table(smi, gpus);
    smi_csv_parse_apps(text, &smi->reading);
    check_fill(smi);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct smi_options options = {.processes = 1, .proc = "/nonexistent"};
    struct fakehost host;
    struct tacho_err err = {0};
    struct smi *smi = calloc(1, sizeof *smi);
    char *text = malloc(size + 1);
    if (size < 1 || !smi || !text) {
        free(smi);
        free(text);
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    fakehost_init(&host, &tacho_plugin_v1);
    smi->host = &host.table;
    smi->options = &options;
    smi_tree_init(&smi->tree);
    switch (data[0] % 5) {
    case 0: read_documents(smi, text, size - 1); break;
    case 1: read_table(smi, text); break;
    case 2: read_apps(smi, text); break;
    case 3: smi_query_choose(&smi->query, text); break;
    default: (void)smi_explain("nvidia-smi", text, "exit code 1", &err); break;
    }
    smi_reading_fini(&smi->reading);
    free(smi->known);
    free(smi);
    free(text);
    fakehost_fini(&host);
    return 0;
}
