/* SPDX-License-Identifier: MIT */
/* The provider as a whole: on a tree of our own, whose values are known, and on this machine. What
 * changes between ticks is in test_proc_change.c, parsers alone are in test_proc_parse.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/metric.h"
#include "plugins/proc/test_bed.h"

static void test_metrics_are_the_catalogues(void)
{
    for (uint32_t i = 0; i < tacho_plugin_v1.metric_count; i++) {
        const struct tacho_metric *own = &tacho_plugin_v1.metrics[i];
        const struct metric *known = metric_find(own->name);
        CU_ASSERT_PTR_NOT_NULL_FATAL(known);
        CU_ASSERT(known->standard);
        CU_ASSERT_STRING_EQUAL(known->desc.help, own->help);
        CU_ASSERT_STRING_EQUAL(known->desc.unit, own->unit);
    }
}

/* ---- our tree -------------------------------------------------------------------------------- */

static void test_host_values(void)
{
    struct bed bed;
    bed_init(&bed, harness_source("plugins/proc/fixtures/node"));
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_EQUAL(HOST("memory.total"), 8000000.0 * 1024);
    CU_ASSERT_EQUAL(HOST("memory.used"), 3000000.0 * 1024);
    NEAR(HOST("memory.utilization"), 37.5);
    CU_ASSERT_EQUAL(HOST("memory.cached"), 2500000.0 * 1024);
    CU_ASSERT_EQUAL(HOST("memory.slab"), 200000.0 * 1024);
    CU_ASSERT_EQUAL(HOST("hugepages.pool"), 16);
    CU_ASSERT_EQUAL(HOST("hugepages.size"), 2048.0 * 1024);
    CU_ASSERT_EQUAL(HOST("swap.used"), 250000.0 * 1024);
    NEAR(HOST("swap.utilization"), 25);
    CU_ASSERT_EQUAL(HOST("swap.in"), 10.0 * (double)sysconf(_SC_PAGESIZE));
    CU_ASSERT_EQUAL(HOST("paging.in"), 4000.0 * 1024);
    CU_ASSERT_EQUAL(HOST("memory.oom_kills"), 2);
    CU_ASSERT_EQUAL(HOST("load.1"), 0.5);
    CU_ASSERT_EQUAL(HOST("load.15"), 2.0);
    CU_ASSERT_EQUAL(HOST("system.uptime"), 3600.25);
    CU_ASSERT_EQUAL(HOST("system.boot_time"), 1700000000);
    CU_ASSERT_EQUAL(HOST("system.context_switches"), 1234567);
    CU_ASSERT_EQUAL(HOST("system.interrupts"), 900000);
    CU_ASSERT_EQUAL(HOST("system.forks"), 4321);
    CU_ASSERT_EQUAL(HOST("processes.running"), 3);
    CU_ASSERT_EQUAL(HOST("processes.threads"), 456);
    CU_ASSERT_EQUAL(HOST("cpu.time.user"), 20);
    CU_ASSERT_EQUAL(HOST("cpu.logical"), 2);
    CU_ASSERT_EQUAL(HOST("cpu.cores"), 2);
    CU_ASSERT_EQUAL(HOST("cpu.sockets"), 1);
    NEAR(HOST("cpu.frequency"), 1.8e9);
    NEAR(HOST("cpu.frequency_max"), 3.6e9);
    CU_ASSERT_EQUAL(HOST("numa.nodes"), 2);
    NEAR(HOST("pressure.io.some.avg10"), 12.34);
    CU_ASSERT_EQUAL(HOST("pressure.cpu.some.total"), 2.5);
    CU_ASSERT_STRING_EQUAL(text(&bed, "host", 0, "system.os"), "Test Linux 1.0 (fixture)");
    CU_ASSERT_STRING_EQUAL(text(&bed, "host", 0, "system.hostname"), "fixture-host");
    CU_ASSERT_STRING_EQUAL(text(&bed, "host", 0, "system.kernel"), "6.1.0-test");
    CU_ASSERT_STRING_EQUAL(text(&bed, "host", 0, "cpu.model"), "Test CPU @ 2.00GHz");
    CU_ASSERT_STRING_EQUAL(text(&bed, "host", 0, "system.virtualization"), "vm");
    bed_fini(&bed);
}

static void test_first_reading_has_no_rates(void)
{
    struct bed bed;
    bed_init(&bed, harness_source("plugins/proc/fixtures/node"));
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_EQUAL(reason(&bed, "host", 0, "cpu.user"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(reason(&bed, "host", 0, "paging.in_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(reason(&bed, "disk", 0, "disk.read_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(reason(&bed, "nic", 1, "network.send_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(reason(&bed, "process", 0, "process.cpu"), TACHO_ABSENT_NOT_YET);
    bed_tick(&bed, 1); /* nothing moved: rates are zero, shares of no time are not known */
    CU_ASSERT_EQUAL(HOST("paging.in_rate"), 0);
    CU_ASSERT_EQUAL(number(&bed, "disk", 0, "disk.utilization"), 0);
    CU_ASSERT_EQUAL(reason(&bed, "host", 0, "cpu.user"), TACHO_ABSENT_NOT_YET);
    bed_fini(&bed);
}

static void test_parts(void)
{
    struct bed bed;
    bed_init(&bed, harness_source("plugins/proc/fixtures/node"));
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "cpu"), 2);
    CU_ASSERT_EQUAL(number(&bed, "cpu", 1, "cpu.time.idle"), 54);
    CU_ASSERT_EQUAL(reason(&bed, "cpu", 1, "cpu.frequency"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "disk"), 2); /* no loop device, no partition */
    CU_ASSERT_EQUAL(number(&bed, "disk", 0, "disk.read_bytes"), 20000.0 * 512);
    CU_ASSERT_EQUAL(number(&bed, "disk", 0, "disk.write_time"), 1.5);
    CU_ASSERT_EQUAL(number(&bed, "disk", 0, "disk.in_flight"), 3);
    CU_ASSERT_EQUAL(number(&bed, "disk", 0, "disk.flush_time"), 0.025);
    CU_ASSERT_EQUAL(number(&bed, "disk", 1, "disk.writes"), 99);
    CU_ASSERT_EQUAL(reason(&bed, "disk", 1, "disk.discards"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "nic"), 2); /* no veth */
    CU_ASSERT_EQUAL(number(&bed, "nic", 1, "network.received_bytes"), 5000000);
    CU_ASSERT_EQUAL(number(&bed, "nic", 1, "network.receive_drops"), 7);
    CU_ASSERT_EQUAL(number(&bed, "nic", 1, "network.sent_packets"), 3500);
    CU_ASSERT_EQUAL(number(&bed, "nic", 1, "network.carrier_errors"), 2);
    CU_ASSERT_EQUAL(number(&bed, "nic", 1, "network.speed"), 1.25e9);
    CU_ASSERT_EQUAL(number(&bed, "nic", 1, "network.mtu"), 1500);
    CU_ASSERT_STRING_EQUAL(text(&bed, "nic", 1, "network.state"), "up");
    CU_ASSERT_STRING_EQUAL(text(&bed, "nic", 1, "network.duplex"), "full");
    CU_ASSERT_EQUAL(reason(&bed, "nic", 0, "network.speed"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(number(&bed, "numa", 0, "memory.used"), 6000000.0 * 1024);
    NEAR(number(&bed, "numa", 1, "memory.utilization"), 75);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "sensor"), 2);
    CU_ASSERT_EQUAL(number(&bed, "sensor", 0, "sensor.temperature"), 45.5);
    CU_ASSERT_EQUAL(number(&bed, "sensor", 0, "sensor.critical"), 100);
    CU_ASSERT_STRING_EQUAL(fakehost_label(bed.batch, "sensor", 0, "label"), "Package id 0");
    CU_ASSERT_EQUAL(number(&bed, "sensor", 1, "sensor.temperature"), -5);
    CU_ASSERT_EQUAL(reason(&bed, "sensor", 1, "sensor.maximum"), TACHO_ABSENT_UNSUPPORTED);
    bed_fini(&bed);
}

static void test_processes(void)
{
    struct bed bed;
    bed_init(&bed, harness_source("plugins/proc/fixtures/node"));
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_EQUAL(HOST("processes.count"), 3);
    CU_ASSERT_EQUAL(HOST("processes.sleeping"), 1);
    CU_ASSERT_EQUAL(HOST("processes.zombie"), 1);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "process"), 3);
    CU_ASSERT_STRING_EQUAL(fakehost_label(bed.batch, "process", 0, "pid"), "42");
    CU_ASSERT_STRING_EQUAL(fakehost_label(bed.batch, "process", 0, "command"), "a b) (c?");
    CU_ASSERT_EQUAL(number(&bed, "process", 0, "process.threads"), 8);
    CU_ASSERT_EQUAL(number(&bed, "process", 0, "process.cpu_time"), 10);
    CU_ASSERT_EQUAL(number(&bed, "process", 0, "process.memory"),
                    90000.0 * (double)sysconf(_SC_PAGESIZE));
    CU_ASSERT_STRING_EQUAL(text(&bed, "process", 0, "process.state"), "running");
    CU_ASSERT_STRING_EQUAL(text(&bed, "process", 2, "process.state"), "zombie");
    bed_fini(&bed);
}

static const char *find_mount(const struct bed *bed, const char *point)
{
    for (uint32_t i = 0; i < bed->batch->entity_count; i++) {
        const struct tacho_entity *entity = &bed->batch->entities[i];
        if (strcmp(entity->kind, "filesystem") == 0 && strcmp(entity->key, point) == 0) {
            return entity->labels[1].value;
        }
    }
    return "";
}

static void test_mounts(void)
{
    struct bed bed;
    bed_init(&bed, harness_source("plugins/proc/fixtures/node"));
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "filesystem"), 2);
    CU_ASSERT_STRING_EQUAL(find_mount(&bed, "/"), "ext4");
    CU_ASSERT_STRING_EQUAL(find_mount(&bed, "/data disk"), "xfs");
    CU_ASSERT_STRING_EQUAL(text(&bed, "filesystem", 0, "filesystem.status"), "ok");
    CU_ASSERT_STRING_EQUAL(text(&bed, "filesystem", 1, "filesystem.status"), "error");
    CU_ASSERT_EQUAL(reason(&bed, "filesystem", 1, "filesystem.used"), TACHO_ABSENT_UNSUPPORTED);
    bed_fini(&bed);
}

static void test_network_mounts_by_option(void)
{
    const char *types[] = {"tmpfs"};
    struct bed bed;
    bed_init(&bed, harness_source("plugins/proc/fixtures/node"));
    bed.options.network_filesystems = 1;
    bed.options.filesystem_types = (struct tacho_strings){.items = types, .count = 1};
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_STRING_EQUAL(find_mount(&bed, "/net/share"), "nfs4");
    CU_ASSERT_STRING_EQUAL(find_mount(&bed, "/hidden"), "tmpfs");
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "filesystem"), 5);
    bed_tick(&bed, 1);
    bed_fini(&bed);
}

static void test_wrong_root(void)
{
    struct bed bed;
    struct tacho_err err;
    bed_init(&bed, "/nonexistent/root");
    CU_ASSERT_PTR_NULL(fakehost_open(&bed.host, &bed.options, &err));
    CU_ASSERT_EQUAL(err.code, TACHO_CONFIG);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nonexistent/root"));
    fakehost_fini(&bed.host);
}

/* ---- this machine ---------------------------------------------------------------------------- */

/* The number after a word at the beginning of a line. */
static double file_number(const char *path, const char *word)
{
    FILE *file = fopen(path, "r");
    double value = NAN;
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, word, strlen(word)) == 0) {
            value = strtod(line + strlen(word), NULL);
            break;
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return value;
}

static void test_this_machine(void)
{
    struct bed bed;
    bed_init(&bed, "");
    bed_open(&bed);
    bed_tick(&bed, 0);
    CU_ASSERT_EQUAL(HOST("memory.total"), 1024 * file_number("/proc/meminfo", "MemTotal:"));
    CU_ASSERT_EQUAL(HOST("cpu.logical"), (double)sysconf(_SC_NPROCESSORS_ONLN));
    CU_ASSERT_EQUAL(HOST("system.boot_time"), file_number("/proc/stat", "btime"));
    CU_ASSERT_DOUBLE_EQUAL(HOST("system.uptime"), file_number("/proc/uptime", ""), 5);
    CU_ASSERT(HOST("processes.count") >= 1);
    CU_ASSERT(fakehost_count(bed.batch, "process") >= 1);
    uint32_t schema_first = bed.batch->entity_count;
    bed_tick(&bed, 1);
    CU_ASSERT(schema_first > 3 && !bed.batch->truncated);
    CU_ASSERT(fakehost_find(bed.batch, "host", 0, "paging.fault_rate")->type == TACHO_VALUE_F64);
    bed_fini(&bed);
}

const struct test tests[] = {
    {"metrics_are_the_catalogues", test_metrics_are_the_catalogues},
    {"host_values", test_host_values},
    {"first_reading_has_no_rates", test_first_reading_has_no_rates},
    {"parts", test_parts},
    {"processes", test_processes},
    {"mounts", test_mounts},
    {"network_mounts_by_option", test_network_mounts_by_option},
    {"wrong_root", test_wrong_root},
    {"this_machine", test_this_machine},
    {NULL, NULL},
};
