/* SPDX-License-Identifier: MIT */
/* Rows of cells, in memory that is kept from one reading to the next. */
#include <stdlib.h>
#include <string.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

#define TEXT_LIMIT (1u << 24)
#define ROW_LIMIT (1u << 16)

void smi_reading_reset(struct smi_reading *reading)
{
    memset(reading->head, 0, sizeof reading->head);
    reading->row_count = 0;
    reading->cell_count = 0;
    reading->text_used = 0;
    reading->gpu_count = 0;
    reading->bad_rows = 0;
    reading->no_memory = false;
}

void smi_reading_fini(struct smi_reading *reading)
{
    free(reading->rows);
    free(reading->cells);
    free(reading->texts);
    memset(reading, 0, sizeof *reading);
}

/* Makes room for `more` elements; false without memory. */
static bool reserve(void **items, uint32_t *size, size_t used, size_t more, size_t width)
{
    if (used + more <= *size) {
        return true;
    }
    size_t wanted = (used + more) * 2;
    void *grown = realloc(*items, wanted * width);
    if (!grown) {
        return false;
    }
    *items = grown;
    *size = (uint32_t)wanted;
    return true;
}

int32_t smi_reading_add(struct smi_reading *reading, enum smi_scope scope, int32_t parent)
{
    uint32_t width = scope == SCOPE_PROCESS ? PC_CELLS : C_GPU_CELLS;
    void *rows = reading->rows;
    void *cells = reading->cells;
    bool fits = reading->row_count < ROW_LIMIT &&
                reserve(&rows, &reading->row_size, reading->row_count, 1, sizeof(struct smi_row));
    reading->rows = rows;
    fits = fits && reserve(&cells, &reading->cell_size, reading->cell_count, width,
                           sizeof(struct smi_cell));
    reading->cells = cells;
    if (!fits) {
        reading->no_memory = true;
        return -1;
    }
    memset(reading->cells + reading->cell_count, 0, width * sizeof(struct smi_cell));
    reading->rows[reading->row_count] =
        (struct smi_row){.scope = (uint8_t)scope, .parent = parent, .cells = reading->cell_count};
    reading->cell_count += width;
    reading->gpu_count += scope == SCOPE_GPU;
    return (int32_t)reading->row_count++;
}

struct smi_cell *smi_reading_cell(const struct smi_reading *reading, int32_t row, uint32_t index)
{
    return &reading->cells[reading->rows[row].cells + index];
}

const char *smi_reading_text(const struct smi_reading *reading, const struct smi_cell *cell)
{
    return cell->type == CELL_TEXT && reading->texts ? reading->texts + cell->as.text : "";
}

uint32_t smi_reading_keep(struct smi_reading *reading, const char *text)
{
    size_t length = strlen(text) + 1;
    void *texts = reading->texts;
    bool fits = reading->text_used + length <= TEXT_LIMIT &&
                reserve(&texts, &reading->text_size, reading->text_used, length, 1);
    reading->texts = texts;
    if (!fits) {
        reading->no_memory = true;
        return 0;
    }
    memcpy(reading->texts + reading->text_used, text, length);
    uint32_t at = reading->text_used;
    reading->text_used += (uint32_t)length;
    return at;
}
