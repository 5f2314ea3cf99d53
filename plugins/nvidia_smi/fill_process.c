/* SPDX-License-Identifier: MIT */
/* Processes on a GPU or MIG device: what nvidia-smi says of them, and who they are by the host. */
#include <inttypes.h>
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

/* The MIG device that a process runs on, or its GPU. */
static int32_t owner_of(const struct smi_reading *reading, int32_t process, int32_t gpu)
{
    const struct smi_cell *gi = smi_reading_cell(reading, process, PC_GI);
    const struct smi_cell *ci = smi_reading_cell(reading, process, PC_CI);
    for (uint32_t i = 0; gi->type == CELL_I64 && ci->type == CELL_I64 && i < reading->row_count;
         i++) {
        if (reading->rows[i].scope == SCOPE_MIG && reading->rows[i].parent == gpu &&
            smi_reading_cell(reading, (int32_t)i, C_GI)->as.i64 == gi->as.i64 &&
            smi_reading_cell(reading, (int32_t)i, C_CI)->as.i64 == ci->as.i64) {
            return (int32_t)i;
        }
    }
    return gpu;
}

/* "C", "G", "C+G", "M+C": letters of all the ways in which it uses the GPU. */
static const char *type_name(const char *letters)
{
    bool compute = strchr(letters, 'C') != NULL;
    bool graphics = strchr(letters, 'G') != NULL;
    if (compute && graphics) {
        return "mixed";
    }
    if (strchr(letters, 'M')) {
        return "mps";
    }
    return graphics ? "graphics" : "compute";
}

static void label(const struct smi *smi, struct tacho_batch *batch, const char *name,
                  const char *value)
{
    if (value[0]) {
        smi->host->label(batch, name, value);
    }
}

/* Numbers that the driver tells mean nothing inside a PID namespace. */
static bool identify(const struct smi *smi, int64_t pid, struct tacho_process *out)
{
    const struct tacho_host *host = smi->host;
    memset(out, 0, sizeof *out);
    out->struct_size = (uint32_t)sizeof *out;
    return pid > 0 && pid <= INT32_MAX && TACHO_HOST_HAS(host, process) &&
           TACHO_HOST_HAS(host, process_sees_host) && host->process_sees_host(smi->options->proc) &&
           host->process(smi->options->proc, (int32_t)pid, out, NULL) == TACHO_OK;
}

static void write_process(const struct smi *smi, const struct smi_reading *reading, int32_t row,
                          int32_t parent, struct tacho_batch *batch)
{
    const struct tacho_host *host = smi->host;
    const struct smi_cell *memory = smi_reading_cell(reading, row, PC_MEMORY);
    int64_t pid = smi_reading_cell(reading, row, PC_PID)->as.i64;
    struct tacho_process who;
    char key[64];
    char number[24];
    bool found = identify(smi, pid, &who);
    (void)snprintf(number, sizeof number, "%" PRId64, pid);
    (void)snprintf(key, sizeof key, "%" PRId64 ":%" PRIu64, pid, found ? who.start_ticks : 0);
    (void)host->entity(batch, "process", key, parent, TACHO_VOLATILE);
    label(smi, batch, "pid", number);
    label(smi, batch, "user", who.user);
    label(smi, batch, "command",
          who.command[0] ? who.command
                         : smi_reading_text(reading, smi_reading_cell(reading, row, PC_NAME)));
    label(smi, batch, "type",
          type_name(smi_reading_text(reading, smi_reading_cell(reading, row, PC_TYPE))));
    label(smi, batch, "container", who.container);
    label(smi, batch, "runtime", who.runtime);
    label(smi, batch, "pod", who.pod);
    label(smi, batch, "job", who.job);
    label(smi, batch, "unit", who.unit);
    if (memory->type == CELL_I64) {
        host->i64(batch, M_PROC_MEMORY, memory->as.i64);
    } else {
        host->absent(batch, M_PROC_MEMORY,
                     memory->type == CELL_ABSENT ? memory->reason : TACHO_ABSENT_UNSUPPORTED);
    }
    for (int32_t metric = M_PROC_UTIL; metric < M_COUNT; metric++) {
        host->absent(batch, metric, TACHO_ABSENT_UNSUPPORTED);
    }
}

void smi_fill_processes(const struct smi *smi, const struct smi_reading *reading, int32_t gpu_row,
                        int32_t owner_row, int32_t entity, struct tacho_batch *batch)
{
    for (uint32_t i = 0; smi->options->processes && i < reading->row_count; i++) {
        if (reading->rows[i].scope == SCOPE_PROCESS && reading->rows[i].parent == gpu_row &&
            smi_reading_cell(reading, (int32_t)i, PC_PID)->type == CELL_I64 &&
            owner_of(reading, (int32_t)i, gpu_row) == owner_row) {
            write_process(smi, reading, (int32_t)i, entity, batch);
        }
    }
}
