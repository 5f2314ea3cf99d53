/* SPDX-License-Identifier: MIT */
/*
 * A reading becomes a batch: GPUs with all their metrics, MIG devices and processes below them. A
 * GPU that was seen once stays: when nvidia-smi no longer tells of it, or says that it is lost, it
 * is failed and its values are absent, and an event says so once.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static void write_cell(const struct smi *smi, const struct smi_reading *reading,
                       const struct smi_cell *cell, int32_t metric, struct tacho_batch *batch)
{
    const struct tacho_host *host = smi->host;
    switch (cell->type) {
    case CELL_F64: host->f64(batch, metric, cell->as.f64); break;
    case CELL_I64: host->i64(batch, metric, cell->as.i64); break;
    case CELL_FLAGS: host->flags(batch, metric, cell->as.flags); break;
    case CELL_TEXT: host->text(batch, metric, smi_reading_text(reading, cell)); break;
    case CELL_ABSENT: host->absent(batch, metric, cell->reason); break;
    default: host->absent(batch, metric, TACHO_ABSENT_UNSUPPORTED); break;
    }
}

/* "00000000:0C:00.0" is "0000:0c:00.0" to everybody else. */
static void shorten_bus_id(const char *from, char *out, size_t size)
{
    size_t skip = strlen(from) == 16 && strncmp(from, "0000", 4) == 0 ? 4 : 0;
    (void)snprintf(out, size, "%s", from + skip);
    for (char *at = out; *at; at++) {
        if (*at >= 'A' && *at <= 'F') {
            *at = (char)(*at | 0x20);
        }
    }
}

/* ---- GPUs that were seen --------------------------------------------------------------------- */

static struct smi_known *find_known(struct smi *smi, const char *uuid, const char *bus_id)
{
    for (uint32_t i = 0; i < smi->known_count; i++) {
        struct smi_known *known = &smi->known[i];
        if (uuid[0] ? strcmp(known->uuid, uuid) == 0
                    : bus_id[0] && strcmp(known->bus_id, bus_id) == 0) {
            return known;
        }
    }
    return NULL;
}

static struct smi_known *add_known(struct smi *smi)
{
    if (smi->known_count == smi->known_size) {
        uint32_t size = smi->known_size * 2 + 8;
        struct smi_known *grown = realloc(smi->known, size * sizeof *grown);
        if (!grown) {
            return NULL;
        }
        smi->known = grown;
        smi->known_size = size;
    }
    struct smi_known *known = &smi->known[smi->known_count++];
    memset(known, 0, sizeof *known);
    return known;
}

/* Who the GPU of this row is; NULL when it says nothing that would name it. */
static struct smi_known *recognise(struct smi *smi, const struct smi_reading *reading, int32_t row,
                                   uint32_t ordinal)
{
    const char *uuid = smi_reading_text(reading, smi_reading_cell(reading, row, C_UUID));
    const char *name = smi_reading_text(reading, smi_reading_cell(reading, row, C_NAME));
    const struct smi_cell *index = smi_reading_cell(reading, row, C_INDEX);
    char bus_id[sizeof((struct smi_known *)0)->bus_id];
    shorten_bus_id(smi_reading_text(reading, smi_reading_cell(reading, row, C_BUS_ID)), bus_id,
                   sizeof bus_id);
    if (!uuid[0] && !bus_id[0]) {
        return NULL;
    }
    struct smi_known *known = find_known(smi, uuid, bus_id);
    if (known) {
        return known;
    }
    known = add_known(smi);
    if (known) {
        (void)snprintf(known->uuid, sizeof known->uuid, "%s", uuid[0] ? uuid : bus_id);
        (void)snprintf(known->name, sizeof known->name, "%s", name);
        (void)snprintf(known->bus_id, sizeof known->bus_id, "%s", bus_id);
        (void)snprintf(known->index, sizeof known->index, "%" PRId64,
                       index->type == CELL_I64 ? index->as.i64 : (int64_t)ordinal);
    }
    return known;
}

static int32_t open_gpu(const struct smi *smi, const struct smi_known *known,
                        struct tacho_batch *batch)
{
    const struct tacho_host *host = smi->host;
    int32_t entity = host->entity(batch, "gpu", known->uuid, -1, 0);
    host->label(batch, "index", known->index);
    if (known->name[0]) {
        host->label(batch, "name", known->name);
    }
    if (known->bus_id[0]) {
        host->label(batch, "pci_bus_id", known->bus_id);
    }
    return entity;
}

static void tell_change(const struct smi *smi, const struct smi_known *known)
{
    struct tacho_batch *batch = smi->host->batch_new(smi->host);
    if (!batch) {
        return;
    }
    (void)open_gpu(smi, known, batch);
    if (known->lost) {
        smi->host->event(batch, "gpu_lost", TACHO_SEVERITY_CRITICAL,
                         "nvidia-smi no longer reaches this GPU; check the kernel log for XID "
                         "errors");
    } else {
        smi->host->event(batch, "gpu_back", TACHO_SEVERITY_INFO,
                         "nvidia-smi reaches this GPU again");
    }
    (void)smi->host->emit(smi->host, batch);
}

static void set_lost(const struct smi *smi, struct smi_known *known, bool lost)
{
    if (known->lost != lost) {
        known->lost = lost;
        tell_change(smi, known);
    }
}

static void write_lost(const struct smi *smi, const struct smi_known *known,
                       struct tacho_batch *batch)
{
    (void)open_gpu(smi, known, batch);
    smi->host->text(batch, M_STATUS, "failed");
    for (int32_t metric = M_STATUS + 1; metric < M_GPU_COUNT; metric++) {
        smi->host->absent(batch, metric, TACHO_ABSENT_LOST);
    }
}

/* ---- one GPU --------------------------------------------------------------------------------- */

/* What is known of processes only after all are read: how many, and the memory of none of them. */
static void count_processes(const struct smi *smi, struct smi_reading *reading, int32_t gpu)
{
    struct smi_cell *used = smi_reading_cell(reading, gpu, M_MEM_USED);
    struct smi_cell *rest = smi_reading_cell(reading, gpu, M_MEM_UNATTRIBUTED);
    int64_t count = 0;
    bool complete = used->type == CELL_I64 && smi->options->processes;
    int64_t left = complete ? used->as.i64 : 0;
    for (uint32_t i = 0; i < reading->row_count; i++) {
        if (reading->rows[i].scope != SCOPE_PROCESS || reading->rows[i].parent != gpu) {
            continue;
        }
        const struct smi_cell *memory = smi_reading_cell(reading, (int32_t)i, PC_MEMORY);
        complete = complete && memory->type == CELL_I64;
        left -= memory->type == CELL_I64 ? memory->as.i64 : 0;
        count++;
    }
    if (smi->options->processes) {
        *smi_reading_cell(reading, gpu, M_PROCESSES) =
            (struct smi_cell){.type = CELL_I64, .as.i64 = count};
    }
    if (complete) {
        *rest = (struct smi_cell){.type = CELL_I64, .as.i64 = left > 0 ? left : 0};
    }
}

/* The versions stand once in a document. Newer drivers print a sentence there. */
static void take_version(const struct smi_reading *reading, int32_t gpu, uint32_t cell,
                         uint32_t head)
{
    struct smi_cell *own = smi_reading_cell(reading, gpu, cell);
    if (own->type == CELL_UNSET) {
        *own = reading->head[head];
    }
    const char *text = smi_reading_text(reading, own);
    if (own->type == CELL_TEXT && (text[0] < '0' || text[0] > '9')) {
        *own = (struct smi_cell){.type = CELL_ABSENT, .reason = TACHO_ABSENT_UNSUPPORTED};
    }
}

static void write_mig(const struct smi *smi, const struct smi_reading *reading, int32_t row,
                      const struct smi_known *gpu, int32_t parent, bool first,
                      struct tacho_batch *batch)
{
    static const int32_t shown[] = {M_MEM_TOTAL, M_MEM_USED, M_MEM_FREE, M_MEM_RESERVED};
    static const struct {
        uint32_t cell;
        const char *label;
    } labels[] = {{C_INDEX, "index"}, {C_GI, "gi"}, {C_CI, "ci"}};
    const struct tacho_host *host = smi->host;
    const char *uuid = smi_reading_text(reading, smi_reading_cell(reading, row, C_UUID));
    char key[160];
    char number[24];
    (void)snprintf(key, sizeof key, "MIG-%s/%" PRId64 "/%" PRId64, gpu->uuid,
                   smi_reading_cell(reading, row, C_GI)->as.i64,
                   smi_reading_cell(reading, row, C_CI)->as.i64);
    int32_t entity = host->entity(batch, "mig", uuid[0] ? uuid : key, parent, 0);
    for (uint32_t i = 0; i < TACHO_COUNT(labels); i++) {
        const struct smi_cell *cell = smi_reading_cell(reading, row, labels[i].cell);
        (void)snprintf(number, sizeof number, "%" PRId64, cell->as.i64);
        if (cell->type == CELL_I64) {
            host->label(batch, labels[i].label, number);
        }
    }
    const char *profile = smi_reading_text(reading, smi_reading_cell(reading, row, C_PROFILE));
    if (profile[0]) {
        host->label(batch, "profile", profile);
    }
    for (uint32_t i = 0; i < TACHO_COUNT(shown); i++) {
        /* Memory belongs to the GPU instance: told once, so that sums are right. */
        if (first) {
            write_cell(smi, reading, smi_reading_cell(reading, row, (uint32_t)shown[i]), shown[i],
                       batch);
        } else {
            host->absent(batch, shown[i], TACHO_ABSENT_UNSUPPORTED);
        }
    }
    smi_fill_processes(smi, reading, reading->rows[row].parent, row, entity, batch);
}

static void write_migs(const struct smi *smi, const struct smi_reading *reading, int32_t gpu,
                       const struct smi_known *known, int32_t parent, struct tacho_batch *batch)
{
    int64_t last_instance = -1;
    for (uint32_t i = 0; i < reading->row_count; i++) {
        const struct smi_cell *instance;
        if (reading->rows[i].scope != SCOPE_MIG || reading->rows[i].parent != gpu) {
            continue;
        }
        instance = smi_reading_cell(reading, (int32_t)i, C_GI);
        bool first = instance->type != CELL_I64 || instance->as.i64 != last_instance;
        last_instance = instance->type == CELL_I64 ? instance->as.i64 : -1;
        write_mig(smi, reading, (int32_t)i, known, parent, first, batch);
    }
}

static void write_gpu(const struct smi *smi, struct smi_reading *reading, int32_t row,
                      const struct smi_known *known, struct tacho_batch *batch)
{
    take_version(reading, row, M_DRIVER, H_DRIVER);
    take_version(reading, row, M_CUDA, H_CUDA);
    count_processes(smi, reading, row);
    int32_t entity = open_gpu(smi, known, batch);
    smi->host->text(batch, M_STATUS, "ok");
    for (int32_t metric = M_STATUS + 1; metric < M_GPU_COUNT; metric++) {
        write_cell(smi, reading, smi_reading_cell(reading, row, (uint32_t)metric), metric, batch);
    }
    write_migs(smi, reading, row, known, entity, batch);
    smi_fill_processes(smi, reading, row, row, entity, batch);
}

/* ---- all ------------------------------------------------------------------------------------- */

uint32_t smi_fill(struct smi *smi, struct smi_reading *reading, struct tacho_batch *batch)
{
    uint32_t lost = 0;
    uint32_t ordinal = 0;
    for (uint32_t i = 0; i < smi->known_count; i++) {
        smi->known[i].seen = false;
    }
    for (uint32_t i = 0; i < reading->row_count; i++) {
        if (reading->rows[i].scope != SCOPE_GPU) {
            continue;
        }
        struct smi_known *known = recognise(smi, reading, (int32_t)i, ordinal++);
        if (!known || known->seen) {
            reading->bad_rows++;
            continue;
        }
        known->seen = true;
        set_lost(smi, known, reading->rows[i].lost);
        if (known->lost) {
            write_lost(smi, known, batch);
            lost++;
        } else {
            write_gpu(smi, reading, (int32_t)i, known, batch);
        }
    }
    for (uint32_t i = 0; i < smi->known_count; i++) {
        if (!smi->known[i].seen) {
            set_lost(smi, &smi->known[i], true);
            write_lost(smi, &smi->known[i], batch);
            lost++;
        }
    }
    return lost;
}
