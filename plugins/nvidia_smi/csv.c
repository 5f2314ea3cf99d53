/* SPDX-License-Identifier: MIT */
/*
 * The light form: tables of --query-gpu and --query-compute-apps. One unknown field fails a whole
 * query, so only what --help-query-gpu lists is asked for. Nothing is quoted in these tables: a row
 * that has not as many cells as were asked for is left out, the others count.
 */
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

/* ---- choosing -------------------------------------------------------------------------------- */

/* The line of the help that lists this field, or NULL. */
static const char *find_line(const char *help, const char *name, size_t length)
{
    for (const char *line = help; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t width = strcspn(line, "\n");
        for (const char *at = line; *line == '"' && at < line + width; at++) {
            if (*at == '"' && strncmp(at + 1, name, length) == 0 && at[1 + length] == '"') {
                return line;
            }
        }
    }
    return NULL;
}

static void add_column(struct smi_query *query, int16_t field, uint8_t rank, const char *name,
                       size_t length)
{
    size_t used = strlen(query->fields);
    if (query->count == SMI_COLUMN_LIMIT || used + length + 2 > sizeof query->fields) {
        return;
    }
    (void)snprintf(query->fields + used, sizeof query->fields - used, "%s%.*s", used ? "," : "",
                   (int)length, name);
    query->columns[query->count].field = field;
    query->columns[query->count++].rank = rank;
}

void smi_query_choose(struct smi_query *query, const char *help)
{
    query->fields[0] = '\0';
    query->count = 0;
    for (uint32_t i = 0; i < smi_field_count; i++) {
        const char *taken = NULL; /* two names on one line are the same field */
        uint8_t rank = 0;
        for (const char *name = smi_fields[i].csv; *name; rank++) {
            size_t length = strcspn(name, "|");
            const char *line = find_line(help, name, length);
            if (line && line != taken) {
                add_column(query, (int16_t)i, rank, name, length);
                taken = line;
            }
            name += length + (name[length] == '|');
        }
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Cuts the next line off; NULL at the end. */
static char *next_line(char **at)
{
    char *line = *at;
    if (!*line) {
        return NULL;
    }
    size_t length = strcspn(line, "\n");
    *at = line + length + (line[length] == '\n');
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r') {
        line[length - 1] = '\0';
    }
    return line;
}

static uint32_t count_cells(const char *line)
{
    uint32_t count = 1;
    for (const char *at = strstr(line, ", "); at; at = strstr(at + 2, ", ")) {
        count++;
    }
    return count;
}

/* Cuts the next cell off. */
static char *next_cell(char **at)
{
    char *cell = *at;
    char *end = strstr(cell, ", ");
    *at = end ? end + 2 : cell + strlen(cell);
    if (end) {
        *end = '\0';
    }
    return cell;
}

static void read_row(const struct smi_query *query, char *line, struct smi_reading *reading)
{
    int32_t row = smi_reading_add(reading, SCOPE_GPU, -1);
    for (uint32_t i = 0; row >= 0 && i < query->count; i++) {
        const struct smi_field *field = &smi_fields[query->columns[i].field];
        struct smi_cell *cell = smi_reading_cell(reading, row, field->cell);
        smi_cell_put(reading, cell, field->convert, query->columns[i].rank, field->bit,
                     next_cell(&line));
        if (cell->type == CELL_ABSENT && cell->reason == TACHO_ABSENT_LOST) {
            reading->rows[row].lost = true;
        }
    }
}

int smi_csv_parse(const struct smi_query *query, char *text, struct smi_reading *reading,
                  struct tacho_err *err)
{
    smi_reading_reset(reading);
    bool begun = false;
    for (char *line = next_line(&text); line; line = next_line(&text)) {
        bool fits = count_cells(line) == query->count;
        if (!begun) {
            begun = fits; /* words before the header are not data */
        } else if (fits) {
            read_row(query, line, reading);
        } else if (*line) {
            reading->bad_rows++;
        }
    }
    if (reading->no_memory) {
        smi_reading_reset(reading);
        return tacho_fail(err, TACHO_RETRY, "no memory for what nvidia-smi printed");
    }
    return begun ? TACHO_OK
                 : tacho_fail(err, TACHO_RETRY, "nvidia-smi printed no table of %u columns",
                              (unsigned)query->count);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int32_t find_gpu(const struct smi_reading *reading, const char *uuid)
{
    for (uint32_t i = 0; i < reading->row_count; i++) {
        if (reading->rows[i].scope == SCOPE_GPU &&
            strcmp(smi_reading_text(reading, smi_reading_cell(reading, (int32_t)i, C_UUID)),
                   uuid) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

static void put(struct smi_reading *reading, int32_t row, uint32_t cell, enum smi_convert convert,
                char *text)
{
    smi_cell_put(reading, smi_reading_cell(reading, row, cell), convert, 0, 0, text);
}

/* GPU and number from the left, memory from the right; what is left is the name, commas and all. */
static void read_app(char *line, struct smi_reading *reading)
{
    char *memory = NULL;
    for (char *at = strstr(line, ", "); at; at = strstr(at + 2, ", ")) {
        memory = at;
    }
    char *uuid = next_cell(&line);
    char *pid = next_cell(&line);
    int32_t gpu = find_gpu(reading, uuid);
    if (!memory || memory < line || gpu < 0) {
        reading->bad_rows++;
        return;
    }
    *memory = '\0';
    int32_t row = smi_reading_add(reading, SCOPE_PROCESS, gpu);
    if (row >= 0) {
        char type[] = "C";
        put(reading, row, PC_PID, SMI_COUNT, pid);
        put(reading, row, PC_NAME, SMI_TEXT, line);
        put(reading, row, PC_MEMORY, SMI_BYTES, memory + 2);
        put(reading, row, PC_TYPE, SMI_TEXT, type);
    }
}

void smi_csv_parse_apps(char *text, struct smi_reading *reading)
{
    bool begun = false;
    for (char *line = next_line(&text); line; line = next_line(&text)) {
        if (!begun) {
            begun = strncmp(line, "gpu_uuid, pid", 13) == 0;
        } else if (*line) {
            read_app(line, reading);
        }
    }
}
