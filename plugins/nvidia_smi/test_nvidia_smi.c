/* SPDX-License-Identifier: MIT */
/* What nvidia-smi prints, read: every shape of XML and CSV gives the values that the file says,
 * what is not there is absent with the right reason, and nothing brings the reader down. */
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "plugins/nvidia_smi/nvidia_smi.h"
#include "tests/fakehost.h"
#include "tests/harness.h"
#include "plugins/nvidia_smi/test_expected.h"

struct rig {
    struct fakehost host;
    struct smi_options options;
    struct smi smi;
    struct tacho_err err;
    int result;
    uint32_t lost;
};

static void rig_init(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    fakehost_init(&rig->host, &tacho_plugin_v1);
    rig->options = (struct smi_options){.processes = 1, .proc = "/nonexistent"};
    rig->smi.host = &rig->host.table;
    rig->smi.options = &rig->options;
    smi_tree_init(&rig->smi.tree);
}

static void rig_fini(struct rig *rig)
{
    smi_reading_fini(&rig->smi.reading);
    free(rig->smi.known);
    fakehost_fini(&rig->host);
}

static const struct tacho_batch *fill(struct rig *rig)
{
    struct tacho_batch *batch = rig->host.table.batch_new(&rig->host.table);
    rig->lost = smi_fill(&rig->smi, &rig->smi.reading, batch);
    batch_seal(batch, 1);
    return batch;
}

/* The batch of a text, or NULL when it was refused; the text is changed. */
static const struct tacho_batch *read_xml(struct rig *rig, char *text)
{
    size_t at;
    size_t length;
    memset(&rig->err, 0, sizeof rig->err);
    if (!smi_xml_find(text, strlen(text), &at, &length)) {
        rig->result = smi_explain("nvidia-smi", text, "exit code 1", &rig->err);
        return NULL;
    }
    rig->result = smi_xml_parse(&rig->smi.tree, text + at, length, &rig->smi.reading, &rig->err);
    return rig->result == TACHO_OK ? fill(rig) : NULL;
}

static char *load(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *in = path ? fopen(path, "r") : NULL;
    if (!in) {
        return NULL;
    }
    ssize_t got = getdelim(&text, &size, '\0', in);
    (void)fclose(in);
    if (got < 0) {
        free(text);
        return strdup("");
    }
    return text;
}

static double number(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    return fakehost_number(batch, "gpu", gpu, metric);
}

static int reason(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    const struct tacho_value *value = fakehost_find(batch, "gpu", gpu, metric);
    return value && value->type == TACHO_VALUE_ABSENT ? value->reason : 0;
}

static const char *text_of(const struct tacho_batch *batch, uint32_t gpu, const char *metric)
{
    const struct tacho_value *value = fakehost_find(batch, "gpu", gpu, metric);
    return value && value->type == TACHO_VALUE_TEXT ? value->as.text : "(none)";
}

/* ---- every file ------------------------------------------------------------------------------ */

struct tally {
    uint32_t values, absents, zeros;
};

static struct tally count(const struct tacho_batch *batch)
{
    struct tally tally = {0};
    for (uint32_t i = 0; i < batch->entity_count; i++) {
        const struct tacho_entity *entity = &batch->entities[i];
        for (uint32_t j = 0; j < entity->value_count; j++) {
            const struct tacho_value *value = &entity->values[j];
            bool zero = (value->type == TACHO_VALUE_F64 && value->as.f64 == 0) ||
                        (value->type == TACHO_VALUE_I64 && value->as.i64 == 0);
            tally.values += value->type != TACHO_VALUE_ABSENT;
            tally.absents += value->type == TACHO_VALUE_ABSENT;
            tally.zeros += zero;
        }
    }
    return tally;
}

/* Whether the file has an element of this name that holds a zero. */
static bool has_zero(const char *file, const char *name, size_t length)
{
    for (const char *at = strchr(file, '<'); at; at = strchr(at + 1, '<')) {
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '>') {
            const char *text = at + 2 + length;
            text += strspn(text, " \t\n\rP");
            if (*text == '0') {
                return true;
            }
        }
    }
    return false;
}

static bool zero_is_written(const char *file, int32_t metric)
{
    for (uint32_t i = 0; i < smi_field_count; i++) {
        if (smi_fields[i].cell != metric || smi_fields[i].scope != SCOPE_GPU) {
            continue;
        }
        for (const char *path = smi_fields[i].xml; *path;) {
            size_t length = strcspn(path, "|");
            const char *leaf = path + length;
            while (leaf > path && leaf[-1] != '/') {
                leaf--;
            }
            if (has_zero(file, leaf, (size_t)(path + length - leaf))) {
                return true;
            }
            path += length + (path[length] == '|');
        }
    }
    return false;
}

/* A zero in the batch must be a zero in the file. */
static void check_zeros(const char *file, const struct tacho_batch *batch, uint32_t gpus)
{
    for (int32_t metric = 0; metric < M_GPU_COUNT; metric++) {
        const char *name = tacho_plugin_v1.metrics[metric].name;
        bool made = metric == M_PROCESSES || metric == M_MEM_UNATTRIBUTED;
        for (uint32_t gpu = 0; gpu < gpus && !made; gpu++) {
            if (number(batch, gpu, name) == 0 && !zero_is_written(file, metric)) {
                printf("    %s is 0, but the file has no such zero\n", name);
                CU_FAIL("a zero that the file does not have");
            }
        }
    }
}

static void row(const char *name, const struct rig *rig, const struct tacho_batch *batch)
{
    if (!batch) {
        CU_ASSERT(rig->err.text[0] != '\0');
        printf("    %-58s refused: %.90s\n", name, rig->err.text);
        return;
    }
    struct tally tally = count(batch);
    printf("    %-58s gpus %u mig %u processes %u values %4u absent %4u zero %3u lost %u\n", name,
           fakehost_count(batch, "gpu"), fakehost_count(batch, "mig"),
           fakehost_count(batch, "process"), tally.values, tally.absents, tally.zeros, rig->lost);
}

static void read_one_xml(const char *name, const char *path)
{
    struct rig rig;
    rig_init(&rig);
    char *text = load(path);
    char *file = strdup(text);
    const struct tacho_batch *batch = read_xml(&rig, text);
    row(name, &rig, batch);
    if (batch) {
        check_zeros(file, batch, fakehost_count(batch, "gpu"));
        batch_unref(batch);
    }
    free(file);
    free(text);
    rig_fini(&rig);
}

/* Columns by the names in the first line: the files hold other fields than we would ask for. */
static void query_from_header(struct smi_query *query, const char *file)
{
    memset(query, 0, sizeof *query);
    for (const char *at = file; *at && *at != '\n' && query->count < SMI_COLUMN_LIMIT;) {
        size_t length = strcspn(at, ",\n");
        size_t bare = strcspn(at, " ,\n\r");
        query->columns[query->count].field = 0; /* of which nothing is shown */
        for (uint32_t i = 0; i < smi_field_count; i++) {
            uint8_t rank = 0;
            for (const char *name = smi_fields[i].csv; *name; rank++) {
                size_t width = strcspn(name, "|");
                if (width == bare && strncmp(name, at, bare) == 0) {
                    query->columns[query->count].field = (int16_t)i;
                    query->columns[query->count].rank = rank;
                }
                name += width + (name[width] == '|');
            }
        }
        query->count++;
        at += length + (at[length] == ',');
        at += *at == ' ';
    }
}

/* A table holds at most as many zeros as there are cells that begin with one. */
static uint32_t written_zeros(const char *file)
{
    uint32_t zeros = 0;
    for (const char *at = file; *at; at++) {
        bool begins =
            at == file || at[-1] == '\n' || (at[-1] == ' ' && at > file + 1 && at[-2] == ',');
        zeros += begins && (*at == '0' || (*at == 'P' && at[1] == '0'));
    }
    return zeros;
}

static void read_one_csv(const char *name, const char *path)
{
    struct rig rig;
    rig_init(&rig);
    char *text = load(path);
    uint32_t zeros = written_zeros(text);
    const struct tacho_batch *batch = NULL;
    query_from_header(&rig.smi.query, text);
    rig.result = smi_csv_parse(&rig.smi.query, text, &rig.smi.reading, &rig.err);
    if (rig.result == TACHO_OK) {
        rig.options.processes = 0;
        batch = fill(&rig);
        CU_ASSERT(count(batch).zeros <= zeros);
    }
    row(name, &rig, batch);
    if (batch) {
        batch_unref(batch);
    }
    free(text);
    rig_fini(&rig);
}

typedef void file_fn(const char *name, const char *path);

static uint32_t each_file(const char *folder, const char *suffix, file_fn *run)
{
    struct dirent **entries = NULL;
    int found = scandir(folder, &entries, NULL, alphasort);
    uint32_t files = 0;
    for (int i = 0; i < found; i++) {
        char path[1024];
        const char *name = entries[i]->d_name;
        size_t length = strlen(name);
        struct stat info;
        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        if (name[0] != '.' && stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
            files += each_file(path, suffix, run);
        } else if (length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0) {
            run(name, path);
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    return files;
}

static void test_all_files(void)
{
    static const struct {
        const char *folder, *suffix;
        file_fn *run;
        uint32_t least;
    } sets[] = {
        {"nvidia-smi-xml", ".xml", read_one_xml, 20},
        {"nvidia-smi-mock", ".xml", read_one_xml, 5},
        {"nvidia-smi-mock", ".csv", read_one_csv, 5},
        {"nvidia-smi-csv", ".csv", read_one_csv, 1},
        {"nvidia-smi-captures", "__query-gpu.txt", read_one_csv, 10},
        {"nvidia-smi-errors", ".txt", read_one_xml, 25},
        {"nvidia-smi-text", ".txt", read_one_xml, 1},
    };
    for (uint32_t i = 0; i < TACHO_COUNT(sets); i++) {
        const char *folder = harness_fixture(sets[i].folder);
        if (!folder) {
            harness_skip("TACHO_FIXTURES is not set");
            return;
        }
        printf("    -- %s *%s\n", sets[i].folder, sets[i].suffix);
        CU_ASSERT(each_file(folder, sets[i].suffix, sets[i].run) >= sets[i].least);
    }
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void check_reasons(const struct tacho_batch *batch)
{
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.memory_utilization"), TACHO_ABSENT_DENIED);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.encoder_utilization"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.decoder_utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.jpeg_utilization"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.ofa_utilization"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.serial"), TACHO_ABSENT_DENIED);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.cuda_version"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.pcie.received"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(reason(batch, 0, "gpu.fan"), TACHO_ABSENT_UNSUPPORTED);
}

static void check_values(const struct tacho_batch *batch)
{
    const struct tacho_value *throttle = fakehost_find(batch, "gpu", 0, "gpu.throttle");
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.memory.used"), 11125 * MIB);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.memory.unattributed"), (11125 - 5004 - 1) * MIB);
    CU_ASSERT_DOUBLE_EQUAL(number(batch, 0, "gpu.power"), 142.33, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(batch, 0, "gpu.power_average"), 139.62, 1e-9);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.temperature"), 61);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.temperature.margin"), -7);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.pstate"), 2);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.pcie.sent"), 4000e3);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.pcie.width"), 16);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.clock.sm"), 1950e6);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.ecc.corrected"), 5);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.ecc.uncorrected"), 5);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.processes"), 2);
    CU_ASSERT_STRING_EQUAL(text_of(batch, 0, "gpu.driver_version"), "600.10.01");
    CU_ASSERT_STRING_EQUAL(text_of(batch, 0, "gpu.mig_mode"), "enabled");
    CU_ASSERT(throttle && throttle->type == TACHO_VALUE_FLAGS && throttle->as.flags == 0x44);
    /* 64 bits, and the same whether told in microseconds or nanoseconds. */
    CU_ASSERT_DOUBLE_EQUAL(number(batch, 0, "gpu.throttle_time.power_cap"), 4251.825415, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(number(batch, 0, "gpu.throttle_time.sync_boost"), 4251.825415, 1e-9);
}

static void check_tree(const struct tacho_batch *batch)
{
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
    CU_ASSERT_EQUAL(fakehost_count(batch, "mig"), 2);
    CU_ASSERT_EQUAL(fakehost_count(batch, "process"), 2);
    CU_ASSERT_STRING_EQUAL(batch->entities[1].key,
                           "MIG-GPU-aaaaaaaa-0000-0000-0000-000000000001/3/0");
    CU_ASSERT_EQUAL(fakehost_number(batch, "mig", 0, "gpu.memory.total"), 20000 * MIB);
    CU_ASSERT(isnan(fakehost_number(batch, "mig", 1, "gpu.memory.total"))); /* the same memory */
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "command"),
                           "/opt/My App, Inc/run \"x\" <a&b>");
    CU_ASSERT_EQUAL(batch->entities[4].parent, 2); /* on the second MIG device */
    CU_ASSERT_EQUAL(batch->entities[5].parent, 0);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 1, "type"), "mixed");
    CU_ASSERT_EQUAL(fakehost_number(batch, "process", 0, "gpu.process.memory"), 5004 * MIB);
}

static void test_document(void)
{
    struct rig rig;
    rig_init(&rig);
    char *text = load(harness_source("plugins/nvidia_smi/fixtures/mig_lost.xml"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const struct tacho_batch *batch = read_xml(&rig, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    check_reasons(batch);
    check_values(batch);
    check_tree(batch);
    CU_ASSERT_EQUAL(rig.lost, 1);
    CU_ASSERT_STRING_EQUAL(text_of(batch, 1, "gpu.status"), "failed");
    CU_ASSERT_EQUAL(reason(batch, 1, "gpu.power_limit"), TACHO_ABSENT_LOST);
    CU_ASSERT_EQUAL(fakehost_emitted(&rig.host), 1);
    batch_unref(batch);
    free(text);
    rig_fini(&rig);
}

static void test_mig_list(void)
{
    char text[] = "GPU 0: NVIDIA H100 (UUID: GPU-1)\n  MIG 3g.40gb     Device  0: (UUID: MIG-a)\n"
                  "  MIG 1g.10gb     Device 12: (UUID: MIG-b)\nUnable to determine the device\n"
                  "GPU 1: NVIDIA H100 (UUID: GPU-2)\n  MIG nothing\n  MIG";
    struct rig rig;
    rig_init(&rig);
    smi_mig_list(&rig.smi, text);
    CU_ASSERT_EQUAL(rig.smi.mig_count, 2);
    CU_ASSERT_STRING_EQUAL(rig.smi.migs[1].gpu, "GPU-1");
    CU_ASSERT_STRING_EQUAL(rig.smi.migs[1].uuid, "MIG-b");
    CU_ASSERT_STRING_EQUAL(rig.smi.migs[1].profile, "1g.10gb");
    CU_ASSERT_EQUAL(rig.smi.migs[1].index, 12);
    rig_fini(&rig);
}

/* A GPU that is no longer told of stays, under its number; it comes back with an event. */
static void test_missing_gpu(void)
{
    char both[] = "<nvidia_smi_log><gpu id='00000000:0A:00.0'><uuid>GPU-1</uuid></gpu>"
                  "<gpu id='00000000:0B:00.0'><uuid>GPU-2</uuid></gpu></nvidia_smi_log>";
    char one[] = "Unable to determine the device handle for gpu 0000:0A:00.0: Unknown Error\n"
                 "<nvidia_smi_log><gpu id='00000000:0B:00.0'><uuid>GPU-2</uuid></gpu>"
                 "</nvidia_smi_log>";
    char *const order[] = {both, one, both};
    struct rig rig;
    rig_init(&rig);
    for (uint32_t i = 0; i < TACHO_COUNT(order); i++) {
        const struct tacho_batch *batch = read_xml(&rig, order[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
        CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
        CU_ASSERT_EQUAL(rig.lost, i == 1);
        CU_ASSERT_EQUAL(fakehost_emitted(&rig.host), i);
        if (i == 1) {
            CU_ASSERT_STRING_EQUAL(batch->entities[0].key, "GPU-2");
            CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 0, "index"), "1");
            CU_ASSERT_STRING_EQUAL(text_of(batch, 1, "gpu.status"), "failed");
        }
        batch_unref(batch);
    }
    rig_fini(&rig);
}

static void test_refused(void)
{
    static const char *const cases[] = {
        "<!DOCTYPE nvidia_smi_log [<!ENTITY a 'b'>]><nvidia_smi_log>&a;</nvidia_smi_log>",
        "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
        "<nvidia_smi_log>&a;</nvidia_smi_log>",
        "<nvidia_smi_log><gpu><uuid>GPU-1</uuid></nvidia_smi_log>",
        "<nvidia_smi_log><gpu><uuid>GPU-1</uuid>",
        "",
    };
    for (uint32_t i = 0; i < TACHO_COUNT(cases); i++) {
        struct rig rig;
        rig_init(&rig);
        char *text = strdup(cases[i]);
        CU_ASSERT_PTR_NULL(read_xml(&rig, text));
        CU_ASSERT_EQUAL(rig.smi.reading.row_count, 0);
        CU_ASSERT(rig.err.text[0] != '\0');
        free(text);
        rig_fini(&rig);
    }
}

/* Bytes that no XML may hold, as the name of a process can have. */
static void test_bad_bytes(void)
{
    char text[] = "<nvidia_smi_log><gpu><uuid>GPU-1</uuid><processes><process_info><pid>7</pid>"
                  "<process_name>a\x1b\xff\xc3\xa9z</process_name></process_info></processes></gpu>"
                  "</nvidia_smi_log>";
    struct rig rig;
    rig_init(&rig);
    const struct tacho_batch *batch = read_xml(&rig, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "command"), "a??\xc3\xa9z");
    CU_ASSERT(isnan(fakehost_number(batch, "process", 0, "gpu.process.memory")));
    batch_unref(batch);
    rig_fini(&rig);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void test_choose(void)
{
    struct smi_query query;
    smi_query_choose(&query,
                     "Section about x\n\"uuid\" or \"gpu_uuid\"\nText with \"memory.used\".\n"
                     "\n\"clocks.current.sm\" or \"clocks.sm\"\n\"power.draw\"\n"
                     "\"power.draw.instant\"\n\"unheard.of\"\n");
    CU_ASSERT_STRING_EQUAL(query.fields, "power.draw.instant,power.draw,clocks.current.sm,uuid");
    CU_ASSERT_EQUAL(query.count, 4);
    smi_query_choose(&query, "");
    CU_ASSERT_EQUAL(query.count, 0);
}

static void test_table(void)
{
    char text[] = "power.draw.instant [W], power.draw [W], clocks.current.sm [MHz], uuid\n"
                  "[N/A], 342.82, 210, GPU-1\n"
                  "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error\n"
                  "1.5, 2.5, 3, 4, GPU-3\n"
                  "[Unknown Error], [N/A], [GPU is lost], GPU-4\r\n";
    char apps[] = "gpu_uuid, pid, process_name, used_gpu_memory [MiB]\n"
                  "GPU-1, 77, /opt/My App, Inc/run, 5004\n"
                  "GPU-1, 78, plain, [N/A]\n"
                  "GPU-9, 79, elsewhere, 1\nNo running processes found\n";
    struct rig rig;
    rig_init(&rig);
    smi_query_choose(&rig.smi.query, "\"uuid\"\n\"clocks.sm\" or \"clocks.current.sm\"\n"
                                     "\"power.draw\"\n\"power.draw.instant\"\n");
    CU_ASSERT_EQUAL(smi_csv_parse(&rig.smi.query, text, &rig.smi.reading, &rig.err), TACHO_OK);
    CU_ASSERT_EQUAL(rig.smi.reading.bad_rows, 2);
    smi_csv_parse_apps(apps, &rig.smi.reading);
    CU_ASSERT_EQUAL(rig.smi.reading.bad_rows, 4);
    const struct tacho_batch *batch = fill(&rig);
    CU_ASSERT_EQUAL(fakehost_count(batch, "gpu"), 2);
    CU_ASSERT_DOUBLE_EQUAL(number(batch, 0, "gpu.power"), 342.82, 1e-9);
    CU_ASSERT_EQUAL(number(batch, 0, "gpu.clock.sm"), 210e6);
    CU_ASSERT_STRING_EQUAL(text_of(batch, 1, "gpu.status"), "failed");
    CU_ASSERT_EQUAL(fakehost_count(batch, "process"), 2);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 0, "command"), "/opt/My App, Inc/run");
    CU_ASSERT_EQUAL(fakehost_number(batch, "process", 0, "gpu.process.memory"), 5004 * MIB);
    batch_unref(batch);
    rig_fini(&rig);
}

/* ---- expected values of real files ----------------------------------------------------------- */

static void test_expected(void)
{
    for (uint32_t i = 0; i < TACHO_COUNT(expected); i++) {
        const char *path = harness_fixture(expected[i].file);
        if (!path) {
            harness_skip("TACHO_FIXTURES is not set");
            return;
        }
        struct rig rig;
        rig_init(&rig);
        char *text = load(path);
        const struct tacho_batch *batch = read_xml(&rig, text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
        double value = number(batch, expected[i].gpu, expected[i].metric);
        bool right =
            isnan(expected[i].value) ? isnan(value) : fabs(value - expected[i].value) < 1e-6;
        if (!right) {
            printf("    %s: %s is %f, not %f\n", expected[i].file, expected[i].metric, value,
                   expected[i].value);
        }
        CU_ASSERT(right);
        batch_unref(batch);
        free(text);
        rig_fini(&rig);
    }
}

static void test_expected_more(void)
{
    const char *path = harness_fixture("nvidia-smi-mock/l40s-busy.xml");
    if (!path) {
        harness_skip("TACHO_FIXTURES is not set");
        return;
    }
    struct rig rig;
    rig_init(&rig);
    char *text = load(path);
    const struct tacho_batch *batch = read_xml(&rig, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    const struct tacho_value *throttle = fakehost_find(batch, "gpu", 0, "gpu.throttle");
    CU_ASSERT(throttle && throttle->as.flags == 0x4c);
    CU_ASSERT_STRING_EQUAL(batch->entities[0].key, "GPU-14050000-0000-0000-0000-000000000000");
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "gpu", 0, "pci_bus_id"), "0000:17:00.0");
    CU_ASSERT_EQUAL(fakehost_count(batch, "process"), 6);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "process", 4, "command"),
                           "/opt/My App, Inc/bin/run \"x\" <a&b>");
    batch_unref(batch);
    free(text);
    rig_fini(&rig);
    rig_init(&rig);
    text = load(harness_fixture("nvidia-smi-xml/a100-sxm4-80gb_535.54_mig4.xml"));
    batch = read_xml(&rig, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(batch);
    CU_ASSERT_EQUAL(fakehost_count(batch, "mig"), 4);
    CU_ASSERT_EQUAL(fakehost_number(batch, "mig", 3, "gpu.memory.total"), 19968 * MIB);
    CU_ASSERT_STRING_EQUAL(fakehost_label(batch, "mig", 3, "gi"), "6");
    batch_unref(batch);
    free(text);
    rig_fini(&rig);
}

const struct test tests[] = {
    {"mig_list", test_mig_list},
    {"document", test_document},
    {"missing_gpu", test_missing_gpu},
    {"refused", test_refused},
    {"bad_bytes", test_bad_bytes},
    {"choose", test_choose},
    {"table", test_table},
    {"expected", test_expected},
    {"expected_more", test_expected_more},
    {"all_files", test_all_files},
    {NULL, NULL},
};
