/* SPDX-License-Identifier: MIT */
/* What a program's lines say: a table of right lines with what they make, and of wrong ones with
 * what is said about them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/metric.h"
#include "plugins/exec/exec.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct rig {
    struct fakehost host;
    struct exec_names names;
    struct exec_record record;
    struct tacho_batch *batch;
    struct tacho_err err;
};

static void rig_init(struct rig *rig)
{
    rig->err = (struct tacho_err){0};
    fakehost_init(&rig->host, &tacho_plugin_v1);
    CU_ASSERT_EQUAL_FATAL(exec_names_init(&rig->names, &rig->host.table, &rig->err), TACHO_OK);
    rig->batch = rig->host.table.batch_new(&rig->host.table);
    CU_ASSERT_EQUAL_FATAL(exec_record_init(&rig->record, &rig->names, rig->batch, &rig->err),
                          TACHO_OK);
}

static int rig_line(struct rig *rig, uint64_t number, const char *text)
{
    rig->err = (struct tacho_err){0};
    return exec_record_line(&rig->record, number, text, strlen(text), &rig->err);
}

/* Seals the batch; how many values it has. */
static uint64_t rig_seal(struct rig *rig)
{
    uint64_t values = exec_record_fini(&rig->record);
    batch_seal(rig->batch, 1);
    return values;
}

static void rig_fini(struct rig *rig)
{
    batch_unref(rig->batch);
    exec_names_fini(&rig->names);
    fakehost_fini(&rig->host);
}

/* ---- right lines ----------------------------------------------------------------------------- */

static void test_short_form(void)
{
    struct rig rig;
    rig_init(&rig);
    CU_ASSERT_EQUAL(rig_line(&rig, 1, "{\"room.temperature\": 21.5, \"room.door\": \"open\"}"),
                    TACHO_OK);
    CU_ASSERT_EQUAL(rig_line(&rig, 2, ""), TACHO_OK);
    CU_ASSERT_EQUAL(rig_line(&rig, 3, "  {\"room.people\": 3, \"room.lit\": true} \r"), TACHO_OK);
    CU_ASSERT_EQUAL(rig_seal(&rig), 4);
    CU_ASSERT_EQUAL(rig.batch->entity_count, 1);
    CU_ASSERT_STRING_EQUAL(rig.batch->entities[0].key, "node");
    CU_ASSERT_EQUAL(fakehost_number(rig.batch, "host", 0, "room.temperature"), 21.5);
    CU_ASSERT_EQUAL(fakehost_number(rig.batch, "host", 0, "room.people"), 3);
    CU_ASSERT_EQUAL(fakehost_number(rig.batch, "host", 0, "room.lit"), 1);
    CU_ASSERT_STRING_EQUAL(fakehost_find(rig.batch, "host", 0, "room.door")->as.text, "open");
    CU_ASSERT_EQUAL(metric_find("room.door")->desc.kind, TACHO_INFO);
    CU_ASSERT_EQUAL(metric_find("room.people")->desc.kind, TACHO_GAUGE);
    rig_fini(&rig);
}

static void test_entities(void)
{
    struct rig rig;
    rig_init(&rig);
    CU_ASSERT_EQUAL(
        rig_line(&rig, 1,
                 "{\"entities\": ["
                 "{\"kind\": \"gpu\", \"key\": \"GPU-1\", \"labels\": {\"index\": \"0\"},"
                 " \"values\": {\"gpu.power\": 70, \"gpu.throttle\": [\"hw_slowdown\", "
                 "\"gpu_idle\"], \"gpu.fan\": {\"absent\": \"unsupported\"}}, \"absent\": "
                 "{\"gpu.energy\": \"denied\"}},"
                 "{\"kind\": \"process\", \"key\": \"77\", \"parent\": \"GPU-1\", \"volatile\": "
                 "true, \"values\": {\"gpu.process.memory\": 1048576}}]}"),
        TACHO_OK);
    CU_ASSERT_EQUAL(rig_seal(&rig), 5);
    CU_ASSERT_EQUAL(fakehost_find(rig.batch, "gpu", 0, "gpu.energy")->reason, TACHO_ABSENT_DENIED);
    CU_ASSERT_EQUAL(rig.batch->entity_count, 2);
    CU_ASSERT_EQUAL(rig.batch->entities[1].parent, 0);
    CU_ASSERT_EQUAL(rig.batch->entities[1].flags, TACHO_VOLATILE);
    CU_ASSERT_STRING_EQUAL(fakehost_label(rig.batch, "gpu", 0, "index"), "0");
    CU_ASSERT_EQUAL(fakehost_find(rig.batch, "gpu", 0, "gpu.throttle")->as.flags, 1 << 3 | 1);
    CU_ASSERT_EQUAL(fakehost_find(rig.batch, "gpu", 0, "gpu.fan")->reason,
                    TACHO_ABSENT_UNSUPPORTED);
    rig_fini(&rig);
}

static void test_declarations(void)
{
    struct rig rig;
    rig_init(&rig);
    CU_ASSERT_EQUAL(rig_line(&rig, 1,
                             "{\"metrics\": [{\"name\": \"pump.litres\", \"unit\": \"litres\", "
                             "\"kind\": \"counter\", \"help\": \"Water moved\"}, {\"name\": "
                             "\"gpu.power\", \"unit\": \"watts\"}], \"pump.litres\": 12}"),
                    TACHO_OK);
    CU_ASSERT_EQUAL(rig_line(&rig, 2, "{\"gpu.power\": null}"), TACHO_OK);
    CU_ASSERT_EQUAL(rig_seal(&rig), 2);
    CU_ASSERT_EQUAL(metric_find("pump.litres")->desc.kind, TACHO_COUNTER);
    CU_ASSERT_STRING_EQUAL(metric_find("pump.litres")->desc.unit, "litres");
    CU_ASSERT_EQUAL(fakehost_find(rig.batch, "host", 0, "gpu.power")->reason, TACHO_ABSENT_ERROR);
    rig_fini(&rig);
}

static int64_t stamp_of(const char *line)
{
    struct rig rig;
    rig_init(&rig);
    CU_ASSERT_EQUAL(rig_line(&rig, 1, line), TACHO_OK);
    (void)rig_seal(&rig);
    int64_t wall_ns = rig.batch->wall_ns;
    rig_fini(&rig);
    return wall_ns;
}

static void test_times(void)
{
    const int64_t noon = INT64_C(1769860800) * EXEC_NS_PER_S;
    CU_ASSERT_EQUAL(stamp_of("{\"time\": \"2026-01-31T12:00:00Z\", \"a\": 1}"), noon);
    CU_ASSERT_EQUAL(stamp_of("{\"time\": \"2026-01-31T12:00:00.25Z\", \"a\": 1}"),
                    noon + EXEC_NS_PER_S / 4);
    CU_ASSERT_EQUAL(stamp_of("{\"time\": \"2026-01-31T14:30:00+02:30\", \"a\": 1}"), noon);
    CU_ASSERT_EQUAL(stamp_of("{\"time\": 1769860800000000000, \"a\": 1}"), noon);
}

static void test_nothing(void)
{
    static const char *const lines[] = {"", "   ", "{}", "{\"entities\": []}", "{\"metrics\": []}"};
    for (uint32_t i = 0; i < TACHO_COUNT(lines); i++) {
        struct rig rig;
        rig_init(&rig);
        CU_ASSERT_EQUAL(rig_line(&rig, 1, lines[i]), TACHO_OK);
        CU_ASSERT_EQUAL(rig_seal(&rig), 0);
        CU_ASSERT_EQUAL(rig.batch->entity_count, 0);
        rig_fini(&rig);
    }
}

/* ---- wrong lines ----------------------------------------------------------------------------- */

#define ENTITY(rest) "{\"entities\": [{\"kind\": \"disk\", \"key\": \"sda\", " rest "}]}"

static const struct {
    const char *line, *expected;
} wrong[] = {
    {"{", "line 7: not JSON: "},
    {"hello", "line 7: not JSON: "},
    {"\x01\xff\xfe garbage", "line 7: not JSON: "},
    {"{\"a\": 1} {\"b\": 2}", "line 7: not JSON: end of file expected"},
    {"{\"a\": 1, \"a\": 2}", "duplicate object key"},
    {"{\"a\": 99999999999999999999}", "too big integer"},
    {"{\"a\": NaN}", "not JSON"},
    {"{\"a\": \"\\u0000\"}", "not JSON"},
    {"[1]", "line 7: an object was expected, not a list"},
    {"5", "line 7: an object was expected, not a number"},
    {"{\"A.b\": 1}", "metric name \"A.b\" is not lower case"},
    {"{\"\": 1}", "metric name"},
    {"{\"a\": [1]}", "a: a number was expected, not a list"},
    {"{\"a\": {}}", "a: an object as value must be {\"absent\": REASON}"},
    {"{\"a\": {\"absent\": \"gone\"}}", "one of unsupported, denied, lost"},
    {"{\"a\": {\"absent\": \"lost\", \"b\": 1}}", "must be {\"absent\": REASON}"},
    {"{\"gpu.power\": \"70 W\"}", "gpu.power: a number was expected, not a text"},
    {"{\"gpu.status\": 1}", "gpu.status: a text was expected, not a number"},
    {"{\"gpu.throttle\": \"hot\"}", "gpu.throttle: a list of flags was expected, not a text"},
    {"{\"gpu.throttle\": [\"hot\"]}", "gpu.throttle: a list of gpu_idle|"},
    {"{\"gpu.throttle\": [\"\"]}", "gpu.throttle: a list of gpu_idle|"},
    {"{\"time\": \"yesterday\", \"a\": 1}", "time: RFC 3339"},
    {"{\"time\": \"2026-13-31T12:00:00Z\", \"a\": 1}", "time: RFC 3339"},
    {"{\"time\": \"2026-01-31T12:00:00\", \"a\": 1}", "time: RFC 3339"},
    {"{\"time\": -5, \"a\": 1}", "time: RFC 3339"},
    {"{\"metrics\": {}}", "metrics: a list was expected, not an object"},
    {"{\"metrics\": [1]}", "metrics: objects with \"name\""},
    {"{\"metrics\": [{\"unit\": \"watts\"}]}", "metrics: objects with \"name\""},
    {"{\"metrics\": [{\"name\": \"a\", \"kind\": \"sum\"}]}", "metrics: objects with \"name\""},
    {"{\"metrics\": [{\"name\": \"gpu.power\", \"unit\": \"kW\"}]}", "gpu.power is a gauge in"},
    {"{\"entities\": {}}", "entities: a list was expected, not an object"},
    {"{\"entities\": [1]}", "entities: a list of objects was expected, not of a number"},
    {"{\"entities\": [], \"a\": 1}", "the line has the unknown member \"a\""},
    {"{\"entities\": [{\"key\": \"sda\", \"values\": {}}]}", "an entity needs \"kind\""},
    {"{\"entities\": [{\"kind\": \"\", \"key\": \"a\", \"values\": {}}]}", "needs \"kind\""},
    {ENTITY("\"labels\": {}"), "entity disk sda needs \"values\""},
    {ENTITY("\"values\": []"), "entity disk sda needs \"values\""},
    {ENTITY("\"values\": {}, \"colour\": 1"), "an entity has the unknown member \"colour\""},
    {ENTITY("\"values\": {}, \"absent\": []"), "absent: an object of names and reasons"},
    {ENTITY("\"values\": {\"a\": 1}, \"absent\": {\"a\": \"lost\"}"), "a cannot be both"},
    {ENTITY("\"values\": {}, \"absent\": {\"a\": 5}"), "a: an object as value must be"},
    {ENTITY("\"values\": {}, \"labels\": []"), "labels: an object of texts"},
    {ENTITY("\"values\": {}, \"labels\": {\"n\": 1}"), "label n: a text was expected"},
    {ENTITY("\"values\": {}, \"parent\": \"sdb\""), "parent of disk sda: the key of an earlier"},
    {ENTITY("\"values\": {}, \"parent\": \"sda\""), "parent of disk sda: the key of an earlier"},
    {ENTITY("\"values\": {}, \"parent\": 0"), "parent of disk sda: the key of an earlier"},
    {"{\"entities\": [{\"kind\": \"d\", \"key\": \"a\", \"values\": {}}, {\"kind\": \"d\", "
     "\"key\": \"a\", \"values\": {}}]}",
     "d a was given before, in line 7"},
};

static void test_wrong_lines(void)
{
    for (uint32_t i = 0; i < TACHO_COUNT(wrong); i++) {
        struct rig rig;
        rig_init(&rig);
        CU_ASSERT_EQUAL(rig_line(&rig, 7, wrong[i].line), TACHO_RETRY);
        if (!strstr(rig.err.text, wrong[i].expected) || strncmp(rig.err.text, "line 7: ", 8) != 0) {
            printf("    %s\n    got \"%s\"\n    expected \"%s\"\n", wrong[i].line, rig.err.text,
                   wrong[i].expected);
            CU_FAIL("wrong sentence");
        }
        CU_ASSERT_EQUAL(rig_seal(&rig), 0);
        CU_ASSERT_EQUAL(rig.batch->entity_count, 0);
        rig_fini(&rig);
    }
}

static void test_repeats_over_lines(void)
{
    struct rig rig;
    rig_init(&rig);
    CU_ASSERT_EQUAL(rig_line(&rig, 1, "{\"a\": 1}"), TACHO_OK);
    CU_ASSERT_EQUAL(rig_line(&rig, 2, "{\"a\": 2}"), TACHO_RETRY);
    CU_ASSERT_STRING_EQUAL(rig.err.text, "line 2: a was given before, in an earlier line");
    CU_ASSERT_EQUAL(rig_line(&rig, 3, ENTITY("\"values\": {\"a\": 1}")), TACHO_OK);
    CU_ASSERT_EQUAL(rig_line(&rig, 4, ENTITY("\"values\": {\"a\": 1}")), TACHO_RETRY);
    CU_ASSERT_STRING_EQUAL(rig.err.text, "line 4: disk sda was given before, in line 3");
    CU_ASSERT_EQUAL(rig_seal(&rig), 2);
    CU_ASSERT_EQUAL(fakehost_number(rig.batch, "host", 0, "a"), 1);
    rig_fini(&rig);
}

static void test_too_many_names(void)
{
    struct rig rig;
    char line[64];
    rig_init(&rig);
    int result = TACHO_OK;
    int names = 0;
    while (result == TACHO_OK && names < 5000) {
        (void)snprintf(line, sizeof line, "{\"many.n%d\": 1}", names++);
        result = rig_line(&rig, 1, line);
    }
    CU_ASSERT_EQUAL(result, TACHO_RETRY); /* the host's limit or ours */
    CU_ASSERT(names > 500);
    (void)rig_seal(&rig);
    rig_fini(&rig);
}

/* ---- bytes to lines -------------------------------------------------------------------------- */

static void join(void *context, uint64_t number, const char *text, size_t length)
{
    char *out = context;
    size_t used = strlen(out);
    (void)length;
    (void)snprintf(out + used, 256 - used, "%" PRIu64 "%s|", number, text ? text : "!");
}

static void test_cutting(void)
{
    static const char input[] = "one\n\nlonger than eight\nfour\nlast";
    for (size_t chunk = 1; chunk <= sizeof input; chunk++) {
        char out[256] = "";
        struct exec_lines lines;
        exec_lines_init(&lines, 8, join, out);
        for (size_t at = 0; at < sizeof input - 1; at += chunk) {
            size_t left = sizeof input - 1 - at;
            exec_lines_feed(&lines, input + at, left < chunk ? left : chunk);
        }
        exec_lines_end(&lines);
        exec_lines_end(&lines);
        CU_ASSERT_STRING_EQUAL(out, "1one|2|3!|4four|5last|");
        exec_lines_fini(&lines);
    }
}

const struct test tests[] = {
    {"short_form", test_short_form},
    {"entities", test_entities},
    {"declarations", test_declarations},
    {"times", test_times},
    {"nothing", test_nothing},
    {"wrong_lines", test_wrong_lines},
    {"repeats_over_lines", test_repeats_over_lines},
    {"too_many_names", test_too_many_names},
    {"cutting", test_cutting},
    {NULL, NULL},
};
