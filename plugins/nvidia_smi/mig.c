/* SPDX-License-Identifier: MIT */
/*
 * UUIDs and profiles of MIG devices. The document does not hold them; the list of `nvidia-smi -L`
 * does, by GPU and index. It is asked for again only when the devices have changed.
 */
#include <stdlib.h>
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

/* A number that changes when devices come, go or are cut anew; 0: there are none. */
static uint64_t signature(const struct smi_reading *reading)
{
    static const uint32_t cells[] = {C_INDEX, C_GI, C_CI, M_MEM_TOTAL};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < reading->row_count; i++) {
        if (reading->rows[i].scope != SCOPE_MIG) {
            continue;
        }
        sum = (sum ^ (uint64_t)(reading->rows[i].parent + 1)) * UINT64_C(1099511628211);
        for (uint32_t j = 0; j < TACHO_COUNT(cells); j++) {
            uint64_t value = (uint64_t)smi_reading_cell(reading, (int32_t)i, cells[j])->as.i64;
            sum = (sum ^ (value + 1)) * UINT64_C(1099511628211);
        }
    }
    return sum;
}

/* The text after `name` up to any of `end`, in the line; false when there is none. */
static bool take(const char *line, const char *name, const char *end, char *out, size_t size)
{
    const char *at = strstr(line, name);
    size_t length = at ? strcspn(at + strlen(name), end) : 0;
    if (length == 0 || length >= size) {
        return false;
    }
    memcpy(out, at + strlen(name), length);
    out[length] = '\0';
    return true;
}

static void add(struct smi *smi, const char *gpu, const char *line)
{
    struct smi_mig mig;
    char index[8];
    (void)snprintf(mig.gpu, sizeof mig.gpu, "%s", gpu);
    if (smi->mig_count < SMI_MIG_LIMIT && take(line, "(UUID: ", ")\n", mig.uuid, sizeof mig.uuid) &&
        take(line, "MIG ", " \n", mig.profile, sizeof mig.profile)) {
        const char *device = strstr(line, "Device");
        device = device ? device + strcspn(device, "0123456789\n") : "\n";
        if (take(device - 1, " ", ":\n", index, sizeof index)) {
            mig.index = strtol(index, NULL, 10);
            smi->migs[smi->mig_count++] = mig;
        }
    }
}

void smi_mig_list(struct smi *smi, char *text)
{
    char gpu[sizeof smi->migs[0].gpu] = "";
    smi->mig_count = 0;
    for (char *line = strsep(&text, "\n"); line; line = strsep(&text, "\n")) {
        if (strncmp(line, "GPU ", 4) == 0 && !take(line, "(UUID: ", ")", gpu, sizeof gpu)) {
            gpu[0] = '\0';
        } else if (gpu[0] && strncmp(line, "  MIG ", 6) == 0) {
            add(smi, gpu, line);
        }
    }
}

/* Asks with a buffer of its own, since a document may be half read. */
static void ask(struct smi *smi, int64_t deadline_ns)
{
    static const char *const arguments[] = {"-L", NULL};
    struct smi_buffer kept = smi->output;
    struct tacho_err err = {0};
    char status[64];
    int code;
    smi->output = (struct smi_buffer){.limit = kept.limit};
    smi->mig_count = 0;
    if (smi_run(smi, arguments, deadline_ns, status, sizeof status, &code, &err) == TACHO_OK) {
        smi_mig_list(smi, smi->output.data);
    }
    free(smi->output.data);
    smi->output = kept;
}

static void name_row(const struct smi *smi, struct smi_reading *reading, int32_t row)
{
    const char *gpu =
        smi_reading_text(reading, smi_reading_cell(reading, reading->rows[row].parent, C_UUID));
    for (uint32_t i = 0; i < smi->mig_count; i++) {
        const struct smi_mig *mig = &smi->migs[i];
        if (strcmp(mig->gpu, gpu) == 0 &&
            smi_reading_cell(reading, row, C_INDEX)->as.i64 == mig->index) {
            uint32_t uuid = smi_reading_keep(reading, mig->uuid);
            uint32_t profile = smi_reading_keep(reading, mig->profile);
            *smi_reading_cell(reading, row, C_UUID) =
                (struct smi_cell){.type = CELL_TEXT, .as.text = uuid};
            *smi_reading_cell(reading, row, C_PROFILE) =
                (struct smi_cell){.type = CELL_TEXT, .as.text = profile};
            return;
        }
    }
}

void smi_mig_name(struct smi *smi, struct smi_reading *reading, int64_t deadline_ns)
{
    uint64_t now = signature(reading);
    if (now != 0 && now != smi->mig_signature) {
        ask(smi, deadline_ns);
    }
    smi->mig_signature = now;
    for (uint32_t i = 0; now != 0 && i < reading->row_count; i++) {
        if (reading->rows[i].scope == SCOPE_MIG && reading->rows[i].parent >= 0) {
            name_row(smi, reading, (int32_t)i);
        }
    }
}
