/* SPDX-License-Identifier: MIT */
/* Batches for tests; see sample_batch.h. */
#include "tests/core/sample_batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/metric.h"

#define STAMP INT64_C(1767225600123456789) /* 2026-01-01T00:00:00.123456789Z */

int32_t sample_metric(const char *name)
{
    const struct metric *metric = metric_find(name);
    uint32_t id;
    if (metric) {
        return (int32_t)metric->id;
    }
    struct tacho_metric own = {
        .name = name, .unit = "", .kind = TACHO_GAUGE, .help = "A metric of the tests"};
    if (metric_register(&own, &id, NULL) != TACHO_OK) {
        abort();
    }
    return (int32_t)id;
}

/* ---- always the same ------------------------------------------------------------------------- */

static void add_fixed_gpu(struct tacho_batch *batch, int32_t host)
{
    batch_entity(batch, "gpu", "GPU-5d1c0de0-0000-4000-8000-000000000001", host, 0);
    batch_label(batch, "index", "0");
    batch_label(batch, "name", "NVIDIA H100 80GB HBM3");
    batch_text(batch, sample_metric("gpu.status"), "ok");
    batch_f64(batch, sample_metric("gpu.utilization"), 97.5);
    batch_i64(batch, sample_metric("gpu.memory.used"), INT64_C(71234682880));
    batch_f64(batch, sample_metric("gpu.power"), 287.431);
    batch_f64(batch, sample_metric("gpu.energy"), 123456789.012);
    batch_absent(batch, sample_metric("gpu.fan"), TACHO_ABSENT_UNSUPPORTED);
    batch_flags(batch, sample_metric("gpu.throttle"), 1u << 2 | 1u << 5);
    batch_i64(batch, sample_metric("gpu.ecc.corrected"), 3);
}

struct tacho_batch *sample_fixed(struct batch_pool *pool)
{
    struct tacho_batch *batch = batch_new(pool);
    batch_origin(batch, "lab", "node-1", "nvml", 7, 42);
    batch_stamp(batch, STAMP, 1500000);
    int32_t host = batch_entity(batch, "host", "node-1", -1, 0);
    batch_text(batch, sample_metric("gpu.driver_version"), "550.54.15");
    add_fixed_gpu(batch, host);
    batch_entity(batch, "process", "4711", 1, TACHO_VOLATILE);
    batch_label(batch, "user", "ada");
    batch_label(batch, "command", "train \"run\\7\"\n\xC3\xBC \xFF");
    batch_i64(batch, sample_metric("gpu.process.memory"), INT64_C(68719476736));
    batch_absent(batch, sample_metric("gpu.process.utilization"), TACHO_ABSENT_NOT_YET);
    batch_entity(batch, "instance", "nvml", host, 0);
    batch_summary(batch, sample_metric("instance.duration"),
                  &(struct tacho_summary){.count = 60,
                                          .min = 0.0011,
                                          .max = 0.0042,
                                          .mean = 0.0015,
                                          .stddev = 0.0003,
                                          .p50 = 0.0014,
                                          .p90 = 0.0019,
                                          .p95 = 0.0021,
                                          .p99 = 0.004,
                                          .integral = NAN});
    batch_i64(batch, sample_metric("instance.calls"), 60);
    batch_seal(batch, 0);
    return batch;
}

/* ---- realistic ------------------------------------------------------------------------------- */

static void add_busy_gpu(struct tacho_batch *batch, int i)
{
    char key[64], index[16];
    snprintf(key, sizeof key, "GPU-5d1c0de0-0000-4000-8000-00000000000%d", i);
    snprintf(index, sizeof index, "%d", i);
    batch_entity(batch, "gpu", key, -1, 0);
    batch_label(batch, "index", index);
    batch_label(batch, "name", "NVIDIA H100 80GB HBM3");
    batch_label(batch, "pci", "0000:1b:00.0");
    batch_text(batch, sample_metric("gpu.status"), "ok");
    batch_i64(batch, sample_metric("gpu.pstate"), 0);
    batch_f64(batch, sample_metric("gpu.utilization"), 90 + i);
    batch_f64(batch, sample_metric("gpu.memory_utilization"), 41 + i);
    batch_f64(batch, sample_metric("gpu.encoder_utilization"), 0);
    batch_f64(batch, sample_metric("gpu.decoder_utilization"), 0);
    batch_i64(batch, sample_metric("gpu.memory.total"), INT64_C(85520809984));
    batch_i64(batch, sample_metric("gpu.memory.used"), INT64_C(71234682880) + i * 2097152);
    batch_i64(batch, sample_metric("gpu.memory.free"), INT64_C(14286127104) - i * 2097152);
    batch_i64(batch, sample_metric("gpu.memory.reserved"), INT64_C(613285888));
    batch_f64(batch, sample_metric("gpu.temperature"), 61 + i);
    batch_f64(batch, sample_metric("gpu.memory.temperature"), 73 + i);
    batch_f64(batch, sample_metric("gpu.power"), 612.431 + i);
    batch_f64(batch, sample_metric("gpu.power_limit"), 700);
    batch_f64(batch, sample_metric("gpu.energy"), 98765432.109 + i);
    batch_f64(batch, sample_metric("gpu.clock.graphics"), 1980e6);
    batch_f64(batch, sample_metric("gpu.clock.sm"), 1980e6);
    batch_f64(batch, sample_metric("gpu.clock.memory"), 2619e6);
    batch_f64(batch, sample_metric("gpu.clock.graphics_max"), 1980e6);
    batch_f64(batch, sample_metric("gpu.clock.memory_max"), 2619e6);
    batch_absent(batch, sample_metric("gpu.fan"), TACHO_ABSENT_UNSUPPORTED);
    batch_flags(batch, sample_metric("gpu.throttle"), 4);
    batch_i64(batch, sample_metric("gpu.pcie.generation"), 5);
    batch_i64(batch, sample_metric("gpu.pcie.width"), 16);
}

struct tacho_batch *sample_gpus(struct batch_pool *pool)
{
    struct tacho_batch *batch = batch_new(pool);
    batch_origin(batch, "lab", "node-1", "nvml", 12, 86400);
    batch_stamp(batch, STAMP, 1500000);
    for (int i = 0; i < 8; i++) {
        add_busy_gpu(batch, i);
    }
    batch_seal(batch, 0);
    return batch;
}

struct tacho_batch *sample_host(struct batch_pool *pool, uint32_t values)
{
    int32_t metrics[12];
    char text[32];
    for (int i = 0; i < 12; i++) {
        snprintf(text, sizeof text, "test.column_%02d", i);
        metrics[i] = sample_metric(text);
    }
    struct tacho_batch *batch = batch_new(pool);
    batch_origin(batch, "lab", "node-1", "proc", 12, 86400);
    batch_stamp(batch, STAMP, 250000);
    batch_entity(batch, "host", "node-1", -1, 0);
    for (uint32_t i = 0; i < values; i++) {
        if (i % 12 == 0) {
            snprintf(text, sizeof text, "%u", i / 12);
            batch_entity(batch, "cpu", text, 0, 0);
        }
        if (i % 3 == 0) {
            batch_i64(batch, metrics[i % 12], 123456 * (int64_t)i);
        } else {
            batch_f64(batch, metrics[i % 12], (double)i * 0.37);
        }
    }
    batch_seal(batch, 0);
    return batch;
}

/* ---- random ---------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545F4914F6CDD1D) >> 11;
}

static const char *odd_text(uint64_t *state)
{
    static const char *const texts[] = {"",
                                        "0",
                                        "plain",
                                        "two words",
                                        "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x9A\x9A",
                                        "\xFF\xFE",
                                        "cut \xE2\x82",
                                        "\xC0\x80 overlong",
                                        "\xED\xA0\x80 surrogate",
                                        "tab\tnewline\nquote\"backslash\\",
                                        "\x01\x1F\x7F",
                                        "a text that is longer than the thirty-one bytes of a "
                                        "short MessagePack string"};
    return texts[next(state) % (sizeof texts / sizeof texts[0])];
}

static double odd_number(uint64_t *state)
{
    static const double numbers[] = {
        0,           -0.0,        1,      -1,       0.1,        1e300,   5e-324,       -1e-7,
        4294967295., 4294967296., 0x1p53, 0x1p62,   0x1p63,     -0x1p63, -2147483648., -2147483649.,
        65536.5,     1e15,        NAN,    INFINITY, 123456.789, 1e22,    99.99,        1.0 / 3};
    uint64_t choice = next(state) % 40;
    if (choice < sizeof numbers / sizeof numbers[0]) {
        return numbers[choice];
    }
    return ((double)next(state) - 0x1p52) / (double)(1 + next(state) % 1000);
}

static int64_t odd_integer(uint64_t *state)
{
    static const int64_t numbers[] = {0,
                                      1,
                                      -1,
                                      -32,
                                      -33,
                                      127,
                                      128,
                                      65535,
                                      65536,
                                      UINT32_MAX,
                                      1l << 32,
                                      INT32_MIN,
                                      INT64_MIN,
                                      INT64_MAX,
                                      INT64_MIN / 2,
                                      INT64_MAX / 2,
                                      1l << 53,
                                      (1l << 53) + 1,
                                      1l << 62,
                                      -(1l << 62)};
    uint64_t choice = next(state) % 30;
    if (choice < sizeof numbers / sizeof numbers[0]) {
        return numbers[choice];
    }
    return (int64_t)(next(state) << next(state) % 12);
}

static void add_summary(struct tacho_batch *batch, int32_t metric, uint64_t *state)
{
    struct tacho_summary summary = {.count = next(state),
                                    .min = odd_number(state),
                                    .max = odd_number(state),
                                    .mean = odd_number(state),
                                    .stddev = odd_number(state),
                                    .p50 = odd_number(state),
                                    .p90 = odd_number(state),
                                    .p95 = odd_number(state),
                                    .p99 = odd_number(state),
                                    .integral = odd_number(state)};
    batch_summary(batch, metric, &summary);
}

static void add_value(struct tacho_batch *batch, uint64_t *state)
{
    int32_t metric = (int32_t)(next(state) % metric_count());
    switch (next(state) % 8) {
    case 0: batch_i64(batch, metric, odd_integer(state)); break;
    case 1: batch_text(batch, metric, odd_text(state)); break;
    case 2: batch_flags(batch, metric, next(state)); break;
    case 3: add_summary(batch, metric, state); break;
    case 4: batch_absent(batch, metric, (int)(next(state) % 9)); break;
    default: batch_f64(batch, metric, odd_number(state)); break;
    }
}

static void add_entity(struct tacho_batch *batch, uint64_t *state)
{
    static const char *const kinds[] = {"host", "gpu", "mig", "process", "cpu", "d i s k", ""};
    char key[32];
    snprintf(key, sizeof key, "%u", (unsigned)(next(state) % 1000));
    batch_entity(batch, kinds[next(state) % 7], next(state) % 4 ? key : odd_text(state),
                 (int32_t)(next(state) % (batch->entity_count + 3)) - 2,
                 next(state) % 3 ? 0 : TACHO_VOLATILE);
    for (uint64_t i = next(state) % 4; i > 0; i--) {
        batch_label(batch, odd_text(state), odd_text(state));
    }
    for (uint64_t i = next(state) % 12; i > 0; i--) {
        add_value(batch, state);
    }
}

struct tacho_batch *sample_random(struct batch_pool *pool, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;
    for (int i = 0; i < 10; i++) {
        next(&state);
    }
    struct tacho_batch *batch = batch_new(pool);
    batch_origin(batch, odd_text(&state), odd_text(&state), odd_text(&state), next(&state),
                 next(&state));
    batch_stamp(batch, (int64_t)(next(&state) << 8), (int64_t)next(&state));
    batch_mark(batch, (uint32_t)next(&state) & 15);
    for (uint64_t i = next(&state) % 10; i > 0; i--) {
        add_entity(batch, &state);
    }
    return batch;
}
