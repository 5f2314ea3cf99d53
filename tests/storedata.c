/* SPDX-License-Identifier: MIT */
/* Batches for tests of logs; see storedata.h. */
#include "tests/storedata.h"

#include <stdio.h>
#include <string.h>

#include "core/metric.h"

enum { GAUGES = 8, COUNTERS = 4, PROCESSES = 3 };

static uint64_t mix(uint64_t number)
{
    number = (number ^ (number >> 31)) * UINT64_C(0x9E3779B97F4A7C15);
    return number ^ (number >> 29);
}

static uint32_t metric(const char *name, const char *unit, int kind)
{
    const struct metric *known = metric_find(name);
    uint32_t id = 0;
    if (known) {
        return known->id;
    }
    metric_register(
        &(struct tacho_metric){.name = name, .unit = unit, .kind = kind, .help = "Test."}, &id,
        NULL);
    return id;
}

static uint32_t numbered(const char *prefix, int i, const char *unit, int kind)
{
    char name[32];
    snprintf(name, sizeof name, "%s%d", prefix, i);
    return metric(name, unit, kind);
}

static double gauge(uint64_t number, uint32_t cpu, int i)
{
    /* Hundredths of a percent, changing now and then: what /proc/stat gives. */
    return (double)(mix(number / 4 + cpu * 131u + (unsigned)i * 7u) % 10000) / 100;
}

static int64_t counter(uint64_t number, uint32_t cpu, int i)
{
    return (int64_t)(number * (100 + cpu) + mix(number + cpu) % 50 + (unsigned)i * 1000000u);
}

static void fill_cpu(struct tacho_batch *batch, uint64_t number, uint32_t cpu)
{
    for (int i = 0; i < GAUGES; i++) {
        batch_f64(batch, (int32_t)numbered("test.gauge", i, "percent", TACHO_GAUGE),
                  gauge(number, cpu, i));
    }
    for (int i = 0; i < COUNTERS; i++) {
        batch_i64(batch, (int32_t)numbered("test.count", i, "", TACHO_COUNTER),
                  counter(number, cpu, i));
    }
}

struct tacho_batch *storedata_batch(struct batch_pool *pool, uint64_t number, uint32_t cpus)
{
    struct tacho_batch *batch = batch_new(pool);
    if (!batch) {
        return NULL;
    }
    batch_entity(batch, "host", "node", -1, 0);
    batch_i64(batch, (int32_t)metric("test.number", "", TACHO_COUNTER), (int64_t)number);
    batch_absent(batch, (int32_t)metric("test.absent", "celsius", TACHO_GAUGE),
                 TACHO_ABSENT_UNSUPPORTED);
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        char key[16];
        snprintf(key, sizeof key, "%u", cpu);
        batch_entity(batch, "cpu", key, 0, 0);
        fill_cpu(batch, number, cpu);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        char key[24];
        snprintf(key, sizeof key, "%u", (unsigned)(mix(number / 64 + i) % 32768));
        batch_entity(batch, "process", key, 0, TACHO_VOLATILE);
        batch_text(batch, (int32_t)metric("test.command", "", TACHO_INFO), "a-program");
        batch_i64(batch, (int32_t)metric("test.memory", "bytes", TACHO_GAUGE),
                  (int64_t)(mix(number / 16 + i) % 65536) * 4096);
    }
    batch_stamp(batch, STOREDATA_START_NS + (int64_t)number * STOREDATA_STEP_NS, 1000);
    batch_seal(batch, number);
    return batch;
}

static int64_t whole(const struct tacho_value *value)
{
    if (!value) {
        return -1;
    }
    return value->type == TACHO_VALUE_I64   ? value->as.i64
           : value->type == TACHO_VALUE_F64 ? (int64_t)value->as.f64
                                            : -1;
}

static bool cpu_is_right(const struct tacho_batch *batch, uint32_t index, uint64_t number)
{
    uint32_t cpu = index - 1;
    if (batch->entities[index].value_count != GAUGES + COUNTERS) {
        return false;
    }
    for (int i = 0; i < GAUGES; i++) {
        const struct tacho_value *value =
            batch_find(batch, index, numbered("test.gauge", i, "percent", TACHO_GAUGE));
        if (!value || value->type != TACHO_VALUE_F64 || value->as.f64 != gauge(number, cpu, i)) {
            return false;
        }
    }
    for (int i = 0; i < COUNTERS; i++) {
        if (whole(batch_find(batch, index, numbered("test.count", i, "", TACHO_COUNTER))) !=
            counter(number, cpu, i)) {
            return false;
        }
    }
    return true;
}

uint64_t storedata_check(struct tacho_batch *batch)
{
    if (!batch->sealed) {
        batch_seal(batch, 0);
    }
    if (batch->entity_count < 1 + PROCESSES) {
        return 0;
    }
    uint64_t number =
        (uint64_t)whole(batch_find(batch, 0, metric("test.number", "", TACHO_COUNTER)));
    uint32_t cpus = batch->entity_count - 1 - PROCESSES;
    bool right = batch->wall_ns == STOREDATA_START_NS + (int64_t)number * STOREDATA_STEP_NS &&
                 batch->seq == number;
    for (uint32_t i = 1; right && i <= cpus; i++) {
        right = cpu_is_right(batch, i, number);
    }
    for (uint32_t i = 0; right && i < PROCESSES; i++) {
        right =
            whole(batch_find(batch, 1 + cpus + i, metric("test.memory", "bytes", TACHO_GAUGE))) ==
            (int64_t)(mix(number / 16 + i) % 65536) * 4096;
    }
    return right ? number : 0;
}
