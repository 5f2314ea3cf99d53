/* SPDX-License-Identifier: MIT */
/*
 * OpenMetrics: names, labels, what comes twice; and the files in tests/core/golden, which are the
 * examples of core/FORMATS.md (`make golden` writes them anew). tests/core/openmetrics.py has pages
 * read by parsers of others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "core/metric.h"
#include "tests/core/sample_batch.h"
#include "tests/harness.h"

static char *page_of(const struct tacho_batch *const *batches, size_t count)
{
    struct buf out;
    buf_init(&out, 1u << 20);
    encode_openmetrics_page(batches, count, &out);
    return buf_take(&out);
}

static char *read_file(const char *path)
{
    struct buf whole;
    char part[4096];
    size_t length;
    FILE *file = fopen(harness_source(path), "rb");
    if (!file) {
        return NULL;
    }
    buf_init(&whole, 1u << 20);
    while ((length = fread(part, 1, sizeof part, file)) > 0) {
        buf_put(&whole, part, length);
    }
    (void)fclose(file);
    return buf_take(&whole);
}

/* Compares as text; a difference is said with the first line that differs. */
static void check_golden(const char *seen, const char *path)
{
    char *wanted = read_file(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wanted);
    CU_ASSERT_STRING_EQUAL(seen, wanted);
    if (strcmp(seen, wanted) != 0) {
        size_t at = 0, line = 0;
        while (seen[at] && seen[at] == wanted[at]) {
            at++;
            line = seen[at - 1] == '\n' ? at : line;
        }
        printf("    %s differs:\n    %.*s\n", path, (int)strcspn(seen + line, "\n"), seen + line);
    }
    free(wanted);
}

static void test_golden_files(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    const struct tacho_batch *batch = sample_fixed(pool);
    struct buf json;
    buf_init(&json, 1u << 20);
    encode_json(batch, &json);
    buf_putc(&json, '\n');
    char *text = buf_take(&json), *page = page_of(&batch, 1);
    check_golden(text, "tests/core/golden/batch.json");
    check_golden(page, "tests/core/golden/page.txt");
    free(text);
    free(page);
    batch_unref(batch);
    batch_pool_free(pool);
}

/* ---- names ----------------------------------------------------------------------------------- */

struct named {
    const char *name, *unit;
    int kind;
    const char *expected; /* the sample's name */
};

static void check_name(struct batch_pool *pool, const struct named *named)
{
    uint32_t id;
    struct tacho_metric metric = {
        .name = named->name, .unit = named->unit, .kind = named->kind, .help = "For a test"};
    CU_ASSERT_EQUAL_FATAL(metric_register(&metric, &id, NULL), TACHO_OK);
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "host", "node", -1, 0);
    batch_f64(batch, (int32_t)id, 50);
    batch_seal(batch, 1);
    const struct tacho_batch *sealed = batch;
    char *page = page_of(&sealed, 1), line[256];
    snprintf(line, sizeof line, "\n%s{host=\"node\"", named->expected);
    CU_ASSERT_PTR_NOT_NULL(strstr(page, line));
    if (!strstr(page, line)) {
        printf("    %s:\n%s", named->name, page);
    }
    free(page);
    batch_unref(batch);
}

static void test_names_and_units(void)
{
    static const struct named table[] = {
        {"om.plain", "", TACHO_GAUGE, "tacho_om_plain"},
        {"om.load", "percent", TACHO_GAUGE, "tacho_om_load_ratio"},
        {"om.load_ratio", "percent", TACHO_GAUGE, "tacho_om_load_ratio"},
        {"om.size", "bytes", TACHO_GAUGE, "tacho_om_size_bytes"},
        {"om.read.bytes", "bytes", TACHO_COUNTER, "tacho_om_read_bytes_total"},
        {"om.rate", "bytes/s", TACHO_GAUGE, "tacho_om_rate_bytes_per_second"},
        {"om.requests.total", "", TACHO_COUNTER, "tacho_om_requests_total"},
        {"om.busy", "seconds", TACHO_COUNTER, "tacho_om_busy_seconds_total"},
        {"om.flow", "m^3/h (air)", TACHO_GAUGE, "tacho_om_flow_m_3_h_air"},
        {"om.version", "", TACHO_INFO, "tacho_om_version_info"},
    };
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        check_name(pool, &table[i]);
    }
    batch_pool_free(pool);
}

static unsigned occurrences(const char *text, const char *part)
{
    unsigned count = 0;
    while ((text = strstr(text, part))) {
        count++;
        text += strlen(part);
    }
    return count;
}

static void test_clashing_names_are_left_out(void)
{
    struct batch_pool *pool = batch_pool_new("", "node", "test", 1, NULL);
    struct tacho_batch *batch = batch_new(pool);
    struct tacho_metric counter = {.name = "clash.x", .unit = "", .kind = TACHO_COUNTER};
    uint32_t id;
    CU_ASSERT_EQUAL_FATAL(metric_register(&counter, &id, NULL), TACHO_OK);
    batch_entity(batch, "host", "node", -1, 0);
    batch_f64(batch, (int32_t)id, 1);
    batch_f64(batch, sample_metric("clash.x_total"), 2);
    batch_f64(batch, sample_metric("clash_x"), 3);
    batch_f64(batch, sample_metric("clash.y.z"), 4);
    batch_f64(batch, sample_metric("clash.y_z"), 5);
    batch_seal(batch, 1);
    const struct tacho_batch *sealed = batch;
    char *page = page_of(&sealed, 1);
    CU_ASSERT_EQUAL(occurrences(page, "\ntacho_clash_x_total{"), 1);
    CU_ASSERT_EQUAL(occurrences(page, "\ntacho_clash_x{"), 0);
    CU_ASSERT_EQUAL(occurrences(page, "\ntacho_clash_y_z{"), 1);
    CU_ASSERT_EQUAL(occurrences(page, "} 4\n"), 1);
    free(page);
    batch_unref(batch);
    batch_pool_free(pool);
}

/* ---- series ---------------------------------------------------------------------------------- */

static const struct tacho_batch *power(struct batch_pool *pool, const char *key, double watts)
{
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "gpu", key, -1, 0);
    batch_f64(batch, sample_metric("gpu.power"), watts);
    batch_i64(batch, sample_metric("gpu.ecc.corrected"), -1);
    batch_seal(batch, 1);
    return batch;
}

static void test_families_stand_together_and_series_once(void)
{
    struct batch_pool *pool = batch_pool_new("", "node", "test", 1, NULL);
    const struct tacho_batch *batches[] = {power(pool, "GPU-1", 10), power(pool, "GPU-2", 20),
                                           power(pool, "GPU-1", 30)};
    char *page = page_of(batches, 3);
    CU_ASSERT_STRING_EQUAL(
        page, "# TYPE tacho_gpu_power_watts gauge\n"
              "# UNIT tacho_gpu_power_watts watts\n"
              "# HELP tacho_gpu_power_watts Power drawn by the whole board\n"
              "tacho_gpu_power_watts{host=\"node\",uuid=\"GPU-1\",source=\"test\"} 10\n"
              "tacho_gpu_power_watts{host=\"node\",uuid=\"GPU-2\",source=\"test\"} 20\n"
              "# EOF\n");
    free(page);
    for (int i = 0; i < 3; i++) {
        batch_unref(batches[i]);
    }
    batch_pool_free(pool);
}

static void test_labels_are_unique(void)
{
    struct batch_pool *pool = batch_pool_new("", "node", "test", 1, NULL);
    struct tacho_batch *batch = batch_new(pool);
    batch_mark(batch, TACHO_SIMULATED);
    int32_t gpu = batch_entity(batch, "gpu", "GPU-1", -1, 0);
    batch_label(batch, "index", "3");
    batch_entity(batch, "mig", "MIG-1", gpu, 0);
    batch_label(batch, "index", "5");
    batch_label(batch, "host", "liar");
    batch_label(batch, "value", "v");
    batch_label(batch, "9 lives", "yes");
    batch_label(batch, "simulated", "true");
    batch_f64(batch, sample_metric("gpu.power"), 1);
    batch_seal(batch, 1);
    const struct tacho_batch *sealed = batch;
    char *page = page_of(&sealed, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        page, "tacho_gpu_power_watts{host=\"node\",uuid=\"MIG-1\",mig=\"5\",exported_value=\"v\","
              "label_9_lives=\"yes\",simulated=\"true\",gpu=\"3\",source=\"test\"} 1\n"));
    free(page);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_events_are_no_samples(void)
{
    struct batch_pool *pool = batch_pool_new("", "node", "test", 1, NULL);
    struct tacho_batch *batch = batch_new(pool);
    batch_entity(batch, "gpu", "GPU-1", -1, 0);
    batch_f64(batch, sample_metric("gpu.xid"), 79);
    batch_event(batch, "xid", TACHO_SEVERITY_CRITICAL, "fell off the bus");
    batch_seal(batch, 1);
    const void *data;
    size_t length;
    CU_ASSERT_EQUAL(encode_batch(batch, TACHO_OPENMETRICS, &data, &length), TACHO_OK);
    CU_ASSERT_EQUAL(length, 0);
    batch_unref(batch);
    batch_pool_free(pool);
}

const struct test tests[] = {
    {"golden_files", test_golden_files},
    {"names_and_units", test_names_and_units},
    {"clashing_names_are_left_out", test_clashing_names_are_left_out},
    {"families_stand_together_and_series_once", test_families_stand_together_and_series_once},
    {"labels_are_unique", test_labels_are_unique},
    {"events_are_no_samples", test_events_are_no_samples},
    {NULL, NULL},
};
