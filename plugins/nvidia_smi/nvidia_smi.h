/* SPDX-License-Identifier: MIT */
/*
 * GPUs as the program nvidia-smi tells of them: what the parts of this plugin share.
 *
 * A reading is what one run (or one round of a run that goes on) said: a driver, GPUs, MIG devices
 * and processes, each a row of cells. A cell has a value or a reason why not. Both forms of output,
 * XML and CSV, fill the same cells by one table (fields.def).
 */
#ifndef TACHO_PLUGINS_NVIDIA_SMI_H
#define TACHO_PLUGINS_NVIDIA_SMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/plugin.h"

#define SMI_NS_PER_S INT64_C(1000000000)
#define SMI_NS_PER_MS INT64_C(1000000)
#define SMI_TEXT_SIZE 512 /* longest text of one cell */

struct smi_options {
    struct tacho_strings command;
    const char *mode;
    const char *loop;
    int64_t timeout_ns;
    int32_t processes;
    const char *proc;
    int64_t max_output_bytes;
};

/* Cells of a GPU or MIG device: the metrics in the order of the plugin's table, then who it is. */
enum smi_cell_index {
#define FIELD(index_, ...) M_##index_,
#include "plugins/nvidia_smi/fields.def"
#undef FIELD
    M_GPU_COUNT, /* the values above stand on every GPU */
    C_UUID = M_GPU_COUNT,
    C_NAME,
    C_BUS_ID,
    C_INDEX,
    C_GI,
    C_CI,
    C_PROFILE,
    C_GPU_CELLS,
};

/* Metrics of a process, behind those of a GPU in the plugin's table. */
enum smi_process_metric {
    M_PROC_MEMORY = M_GPU_COUNT,
    M_PROC_UTIL,
    M_PROC_MEM_UTIL,
    M_PROC_ENC_UTIL,
    M_PROC_DEC_UTIL,
    M_COUNT,
};

/* Cells of a process. */
enum smi_process_cell { PC_PID, PC_TYPE, PC_NAME, PC_MEMORY, PC_GI, PC_CI, PC_CELLS };

/* Cells of the whole reading. */
enum smi_head_cell { H_DRIVER, H_CUDA, H_ATTACHED, H_CELLS };

/* ---- value.c: what a text means ---------------------------------------------------------------
 */

enum smi_cell_type { CELL_UNSET, CELL_ABSENT, CELL_F64, CELL_I64, CELL_FLAGS, CELL_TEXT };

struct smi_cell {
    uint8_t type;   /* enum smi_cell_type */
    uint8_t reason; /* enum tacho_reason, when absent */
    uint8_t rank;   /* of the alternate that gave the value; 0 is best */
    union {
        double f64;
        int64_t i64;
        uint64_t flags;
        uint32_t text; /* place in the reading's texts */
    } as;
};

enum smi_convert {
    SMI_NONE, /* not read from one place */
    SMI_TEXT,
    SMI_WORD,     /* text in lower case, spaces and dashes to _ */
    SMI_RECOVERY, /* a word of the catalogue, or other */
    SMI_PSTATE,
    SMI_PERCENT,
    SMI_BYTES,
    SMI_CELSIUS,
    SMI_WATTS,
    SMI_HERTZ,
    SMI_SECONDS,
    SMI_RATE,
    SMI_COUNT,
    SMI_LANES,
    SMI_MASK,
    SMI_FLAG, /* one bit of a set, "Active" or "Not Active" */
    SMI_SUM,  /* counts that are added up */
};

struct smi_reading;

/* Puts what the text (which is changed) means into the cell, unless what is there is better. `bit`
 * is for SMI_FLAG. */
void smi_cell_put(struct smi_reading *reading, struct smi_cell *cell, enum smi_convert convert,
                  uint8_t rank, uint8_t bit, char *text);

/* ---- reading.c: rows of cells -----------------------------------------------------------------
 */

enum smi_scope { SCOPE_HEAD, SCOPE_GPU, SCOPE_MIG, SCOPE_PROCESS };

struct smi_row {
    uint8_t scope;  /* enum smi_scope */
    bool lost;      /* a cell said so */
    int32_t parent; /* row of its GPU, -1: not known */
    uint32_t cells; /* place of the first */
};

struct smi_reading {
    struct smi_cell head[H_CELLS];
    struct smi_row *rows;
    uint32_t row_count, row_size;
    struct smi_cell *cells;
    uint32_t cell_count, cell_size;
    char *texts;
    uint32_t text_used, text_size;
    uint32_t gpu_count;
    uint32_t bad_rows; /* left out, as they made no sense */
    bool no_memory;
};

/* Empties a reading (one of zeros is empty); what was allocated is kept for the next. */
void smi_reading_reset(struct smi_reading *reading);
void smi_reading_fini(struct smi_reading *reading);

/* Appends a row of unset cells; -1 without memory. */
int32_t smi_reading_add(struct smi_reading *reading, enum smi_scope scope, int32_t parent);

/* A cell of a row. */
struct smi_cell *smi_reading_cell(const struct smi_reading *reading, int32_t row, uint32_t index);

/* The text of a cell, or "" when it has none. */
const char *smi_reading_text(const struct smi_reading *reading, const struct smi_cell *cell);
uint32_t smi_reading_keep(struct smi_reading *reading, const char *text);

/* ---- fields.c: where values are found ---------------------------------------------------------
 */

struct smi_field {
    uint16_t cell;
    uint8_t scope;
    uint8_t convert;
    uint8_t bit;
    const char *xml, *csv; /* alternates, apart by '|' */
};

extern const struct smi_field smi_fields[];
extern const uint32_t smi_field_count;

/* The table's element paths as a tree, for walking along with the parser. */
struct smi_node {
    const char *name; /* not ended by NUL */
    uint32_t length;
    uint32_t hash;
    int16_t parent;
    int16_t field; /* -1: none */
    uint8_t rank;
    uint8_t begins; /* enum smi_scope that this element begins; SCOPE_HEAD: none */
};

#define SMI_NODE_LIMIT 512
#define SMI_SLOT_COUNT 2048

struct smi_tree {
    struct smi_node nodes[SMI_NODE_LIMIT];
    int16_t slots[SMI_SLOT_COUNT];
    uint32_t node_count;
};

void smi_tree_init(struct smi_tree *tree);

/* The child of a node (-1: the document itself) of that name, or -1. */
int16_t smi_tree_find(const struct smi_tree *tree, int16_t parent, const char *name);

/* ---- xml.c, csv.c -----------------------------------------------------------------------------
 */

/* Finds the first whole document in the output: its place and length. False when there is none. */
bool smi_xml_find(const char *data, size_t length, size_t *out_at, size_t *out_length);

/* Reads one whole document; bytes that no XML may hold are replaced in `data`. On failure the
 * reading is empty. */
int smi_xml_parse(const struct smi_tree *tree, char *data, size_t length,
                  struct smi_reading *reading, struct tacho_err *err);

#define SMI_COLUMN_LIMIT 256

/* What to ask for, and where the answers go. */
struct smi_query {
    char fields[8192]; /* as --query-gpu= wants them */
    uint32_t count;
    struct {
        int16_t field;
        uint8_t rank;
    } columns[SMI_COLUMN_LIMIT];
};

/* Chooses the fields that this nvidia-smi knows, by its --help-query-gpu. */
void smi_query_choose(struct smi_query *query, const char *help);

/* Reads the answer to --query-gpu (csv, with or without units; the first line is the header). */
int smi_csv_parse(const struct smi_query *query, char *text, struct smi_reading *reading,
                  struct tacho_err *err);

#define SMI_APPS_FIELDS "gpu_uuid,pid,process_name,used_memory"

/* Adds the answer to --query-compute-apps=SMI_APPS_FIELDS. */
void smi_csv_parse_apps(char *text, struct smi_reading *reading);

/* ---- explain.c --------------------------------------------------------------------------------
 */

/* What output without data means: fills err and returns a code that fits. */
int smi_explain(const char *command, const char *output, const char *status, struct tacho_err *err);

/* ---- child.c: the process ---------------------------------------------------------------------
 */

struct smi_child {
    pid_t pid; /* leader of its own process group; 0: none */
    int out;
};

/* Path of the program, looked for as a shell does; false when there is none. */
bool smi_child_find(const char *name, char *out, size_t size);

/* Starts it with LC_ALL=C, few descriptors, in a process group of its own, both of its streams in
 * one non-blocking pipe. */
int smi_child_start(struct smi_child *child, const char *path, const char *const *argv,
                    struct tacho_err *err);
bool smi_child_ended(const struct smi_child *child);

/* Ends the whole group and reaps the leader. -1: even SIGKILL did not end it within half a second;
 * child->pid is then left as it is, the pipe is closed. */
int smi_child_stop(struct smi_child *child);
const char *smi_child_status(int status, char *out, size_t size);

/* ---- run.c: output, in time -------------------------------------------------------------------
 */

struct smi_buffer {
    char *data; /* ended by NUL */
    size_t used, size, limit;
};

#define SMI_MIG_LIMIT 128

/* A line of `nvidia-smi -L`. */
struct smi_mig {
    char gpu[96], uuid[96], profile[32];
    int64_t index;
};

struct smi {
    const struct tacho_host *host;
    const struct smi_options *options;
    int64_t interval_ns;
    char path[4096];
    int wake; /* eventfd, written by cancel */
    struct smi_tree tree;
    struct smi_query query;
    struct smi_reading reading;
    struct smi_buffer output;

    pid_t stuck;              /* a child that SIGKILL did not end; 0: none */
    struct smi_child looping; /* runs on */
    uint32_t loop_failures;
    int64_t asked_ns;    /* last collect */
    int64_t answered_ns; /* last document of the looping child */

    struct smi_mig migs[SMI_MIG_LIMIT];
    uint32_t mig_count;
    uint64_t mig_signature; /* of the devices that were asked for */

    struct smi_known *known;
    uint32_t known_count, known_size;
};

/* Forgets cancels, which are meant for the call that they came in. */
void smi_wake_forget(struct smi *smi);

void smi_buffer_drop(struct smi_buffer *buffer, size_t length);

/* One whole run with these arguments; the output is in smi->output. TACHO_OK when it ended by
 * itself, whatever its exit code, which is described in out_status. */
int smi_run(struct smi *smi, const char *const *arguments, int64_t deadline_ns, char *out_status,
            size_t status_size, int *out_code, struct tacho_err *err);

/* The newest document of the child that runs on, which is started when needed, into the reading. */
int smi_loop(struct smi *smi, int64_t deadline_ns, struct tacho_err *err);
void smi_loop_stop(struct smi *smi);

/* Whether a child is left that could not be ended. */
bool smi_is_stuck(struct smi *smi);

/* ---- mig.c ------------------------------------------------------------------------------------
 */

/* Reads the list that -L prints; the text is changed. */
void smi_mig_list(struct smi *smi, char *text);

/* Sets UUIDs and profiles of MIG devices; asks for them when the devices have changed. */
void smi_mig_name(struct smi *smi, struct smi_reading *reading, int64_t deadline_ns);

/* ---- fill.c: a reading to a batch -------------------------------------------------------------
 */

/* A GPU that was seen once: it stays visible when it is lost. */
struct smi_known {
    char uuid[96], name[96], bus_id[32], index[16];
    bool seen, lost;
};

/* Writes all GPUs, those that are missing too. Returns how many are lost. */
uint32_t smi_fill(struct smi *smi, struct smi_reading *reading, struct tacho_batch *batch);

/* fill_process.c */
void smi_fill_processes(const struct smi *smi, const struct smi_reading *reading, int32_t gpu_row,
                        int32_t owner_row, int32_t entity, struct tacho_batch *batch);

#endif
