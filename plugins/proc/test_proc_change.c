/* SPDX-License-Identifier: MIT */
/* What changes from one tick to the next: rates and shares, counters that go back, devices and
 * processes that come and go, kernels that tell less, file systems that do not answer. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/proc/mounts.h"
#include "plugins/proc/test_bed.h"

static struct bed bed;
static const char *root;

static void begin(void)
{
    root = tree_copy();
    bed_init(&bed, root);
}

static void first_tick(void)
{
    bed_open(&bed);
    bed_tick(&bed, 0);
}

/* The index of the entity with this key among its kind, or -1. */
static int64_t nth_of(const char *kind, const char *key)
{
    uint32_t nth = 0;
    for (uint32_t i = 0; i < bed.batch->entity_count; i++) {
        const struct tacho_entity *entity = &bed.batch->entities[i];
        if (strcmp(entity->kind, kind) == 0) {
            if (strcmp(entity->key, key) == 0) {
                return nth;
            }
            nth++;
        }
    }
    return -1;
}

static double of(const char *kind, const char *key, const char *metric)
{
    int64_t nth = nth_of(kind, key);
    return nth < 0 ? (double)NAN : number(&bed, kind, (uint32_t)nth, metric);
}

static int absence(const char *kind, const char *key, const char *metric)
{
    int64_t nth = nth_of(kind, key);
    return nth < 0 ? -1 : reason(&bed, kind, (uint32_t)nth, metric);
}

/* ---- rates ----------------------------------------------------------------------------------- */

static void test_cpu_shares(void)
{
    static const char *const states[] = {"cpu.user",   "cpu.nice",      "cpu.system",  "cpu.idle",
                                         "cpu.iowait", "cpu.irq",       "cpu.softirq", "cpu.steal",
                                         "cpu.guest",  "cpu.guest_nice"};
    begin();
    first_tick();
    /* 200 ticks: user 80 (20 of them guests), nice 10 (5), system 30, idle 60, iowait 10, irq 2,
     * softirq 3, steal 5. */
    tree_write(root, "proc/stat",
               "cpu  2080 110 1030 10060 410 52 153 305 220 25\n"
               "cpu0 1580 60 630 4600 300 27 78 150 220 25\n"
               "cpu1 500 50 400 5460 110 25 75 155 0 0\n"
               "intr 900500 1\nctxt 1234767\nbtime 1700000000\nprocesses 4331\n"
               "procs_running 1\nprocs_blocked 0\n");
    bed_tick(&bed, 2);
    NEAR(HOST("cpu.user"), 30);
    NEAR(HOST("cpu.nice"), 2.5);
    NEAR(HOST("cpu.system"), 15);
    NEAR(HOST("cpu.idle"), 30);
    NEAR(HOST("cpu.iowait"), 5);
    NEAR(HOST("cpu.steal"), 2.5);
    NEAR(HOST("cpu.guest"), 10);
    NEAR(HOST("cpu.utilization"), 65);
    NEAR(of("cpu", "cpu1", "cpu.idle"), 80);
    double sum = 0;
    for (int i = 0; i < 10; i++) {
        sum += HOST(states[i]);
    }
    NEAR(sum, 100);
    NEAR(HOST("system.context_switch_rate"), 100);
    NEAR(HOST("system.interrupt_rate"), 250);
    NEAR(HOST("system.fork_rate"), 5);
    CU_ASSERT_EQUAL(HOST("cpu.user"), (double)(float)HOST("cpu.user"));
    bed_fini(&bed);
}

static void test_device_rates(void)
{
    begin();
    first_tick();
    tree_write(
        root, "proc/diskstats",
        "   8       0 sda 1100 10 22000 600 2050 20 48000 1600 0 2200 3000 30 1 600 40 50 25\n");
    tree_write(root, "proc/net/dev",
               "x\ny\n  eth0:5008000 4040 3 7 1 2 0 9 6016000 3700 4 5 0 1 2 0\n");
    tree_write(
        root, "proc/vmstat",
        "nr_free_pages 500000\nnr_zone_inactive_anon 12\npgpgin 5000\npgpgout 8000\n"
        "pswpin 12\npswpout 20\npgalloc_dma 0\npgfault 700400\npgmajfault 304\noom_kill 2\n");
    bed_tick(&bed, 4);
    NEAR(of("disk", "sda", "disk.read_rate"), 2000 * 512 / 4.0);
    NEAR(of("disk", "sda", "disk.write_rate"), 8000 * 512 / 4.0);
    NEAR(of("disk", "sda", "disk.read_operations"), 25);
    NEAR(of("disk", "sda", "disk.utilization"), 25);
    NEAR(of("nic", "eth0", "network.receive_rate"), 2000);
    NEAR(of("nic", "eth0", "network.send_rate"), 4000);
    NEAR(of("nic", "eth0", "network.send_packet_rate"), 50);
    NEAR(HOST("paging.in_rate"), 1000 * 1024 / 4.0);
    NEAR(HOST("paging.fault_rate"), 100);
    NEAR(HOST("paging.major_fault_rate"), 1);
    NEAR(HOST("swap.in_rate"), 2 * (double)sysconf(_SC_PAGESIZE) / 4);
    bed_fini(&bed);
}

static void test_process_cpu(void)
{
    begin();
    first_tick();
    tree_write(root, "proc/1/stat",
               "1 (systemd) S 0 1 1 0 -1 0 0 0 0 0 150 130 10 20 20 0 1 0 5 170000000 3000 1");
    bed_tick(&bed, 2);
    CU_ASSERT_STRING_EQUAL(fakehost_label(bed.batch, "process", 0, "command"), "systemd");
    NEAR(number(&bed, "process", 0, "process.cpu"), 100);
    NEAR(of("process", "42:4200", "process.cpu"), 0);
    /* The same number for another process: a new entity, and nothing to compare with. */
    tree_write(root, "proc/42/stat",
               "42 (other) S 0 1 1 0 -1 0 0 0 0 0 9150 130 10 20 20 0 1 0 99999 1000 3000 1");
    bed_tick(&bed, 2);
    CU_ASSERT_EQUAL(nth_of("process", "42:4200"), -1);
    CU_ASSERT_EQUAL(absence("process", "42:99999", "process.cpu"), TACHO_ABSENT_NOT_YET);
    tree_remove(root, "proc/42/stat");
    tree_remove(root, "proc/42");
    bed_tick(&bed, 2);
    CU_ASSERT_EQUAL(HOST("processes.count"), 2);
    CU_ASSERT_EQUAL(nth_of("process", "42:99999"), -1);
    bed_fini(&bed);
}

/* ---- counters that go back ------------------------------------------------------------------- */

static void test_counters_that_go_back(void)
{
    begin();
    first_tick();
    tree_write(root, "proc/diskstats", "   8       0 sda 1 0 8 1 1 0 8 1 0 1 2\n");
    /* 32 bits wrapped: bytes are back near zero, packets went on. */
    tree_write(root, "proc/net/dev",
               "x\ny\n eth0: 100 4040 0 0 0 0 0 0 6016000 3700 0 0 0 0 0 0\n");
    tree_write(root, "proc/vmstat", "pgpgin 1\npgpgout 1\npswpin 0\npswpout 0\npgfault 1\n");
    tree_write(
        root, "proc/stat",
        "cpu  10 1 10 100 4 0 1 3 2 0\ncpu0 9 1 9 99 3 0 1 2 2 0\ncpu1 600 60 500 5500 200 30 "
        "80 160 0 0\nctxt 5\nintr 5\nprocesses 5\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(absence("disk", "sda", "disk.read_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(absence("disk", "sda", "disk.utilization"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(of("disk", "sda", "disk.reads"), 1);
    CU_ASSERT_EQUAL(absence("nic", "eth0", "network.receive_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(absence("nic", "eth0", "network.send_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(absence("host", "node", "paging.in_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(absence("host", "node", "cpu.user"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(absence("cpu", "cpu0", "cpu.user"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(absence("cpu", "cpu1", "cpu.user"), -1);
    CU_ASSERT_EQUAL(absence("host", "node", "system.context_switch_rate"), TACHO_ABSENT_NOT_YET);
    bed_tick(&bed, 1); /* and from here on they are known again */
    CU_ASSERT_EQUAL(of("disk", "sda", "disk.read_rate"), 0);
    CU_ASSERT_EQUAL(of("nic", "eth0", "network.receive_rate"), 0);
    CU_ASSERT_EQUAL(HOST("paging.in_rate"), 0);
    bed_fini(&bed);
}

static void test_idle_that_goes_back(void)
{
    begin();
    first_tick();
    tree_write(root, "proc/stat", "cpu  2100 100 1000 9990 399 50 150 300 200 20\n");
    bed_tick(&bed, 1);
    NEAR(HOST("cpu.user"), 100);
    NEAR(HOST("cpu.idle"), 0);
    bed_fini(&bed);
}

/* ---- what comes and goes --------------------------------------------------------------------- */

static void test_devices_come_and_go(void)
{
    begin();
    first_tick();
    tree_write(root, "sys/block/sdb/size", "1");
    tree_write(root, "proc/diskstats",
               "   8       0 sda 1000 10 20000 500 2000 20 40000 1500 3 1200 2000\n"
               "   8      16 sdb 7 0 56 1 1 0 8 1 0 1 2\n");
    tree_write(root, "proc/net/dev", "x\ny\n wlan0: 7 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    tree_write(root, "proc/stat",
               "cpu  2080 110 1030 10060 410 52 153 305 220 25\n"
               "cpu0 1580 60 630 4600 300 27 78 150 220 25\n"
               "cpu3 5 5 5 5 5 5 5 5 5 5\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(of("disk", "sdb", "disk.reads"), 7);
    CU_ASSERT_EQUAL(absence("disk", "sdb", "disk.read_rate"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(of("disk", "sda", "disk.read_rate"), 0);
    CU_ASSERT_EQUAL(nth_of("disk", "nvme0n1"), -1);
    CU_ASSERT_EQUAL(nth_of("nic", "eth0"), -1);
    CU_ASSERT_EQUAL(of("nic", "wlan0", "network.received_bytes"), 7);
    CU_ASSERT_EQUAL(nth_of("cpu", "cpu1"), -1);
    CU_ASSERT_EQUAL(absence("cpu", "cpu3", "cpu.user"), TACHO_ABSENT_NOT_YET);
    CU_ASSERT_EQUAL(HOST("cpu.logical"), 2);
    /* Gone for one tick and back with larger counters: no spike. */
    tree_write(root, "proc/diskstats", "");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "disk"), 0);
    tree_write(root, "proc/diskstats",
               "   8       0 sda 9999 10 999999 500 2000 20 40000 1 3 1 2\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(absence("disk", "sda", "disk.read_rate"), TACHO_ABSENT_NOT_YET);
    bed_fini(&bed);
}

static void test_sensors_come_and_go(void)
{
    begin();
    first_tick();
    tree_write(root, "sys/class/hwmon/hwmon1/name", "nvme\n");
    tree_write(root, "sys/class/hwmon/hwmon1/temp1_input", "38850\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "sensor"), 2); /* looked for rarely */
    bed_tick(&bed, 10);
    NEAR(of("sensor", "nvme/temp1", "sensor.temperature"), 38.85);
    tree_write(root, "sys/class/hwmon/hwmon0/temp1_input", "");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(absence("sensor", "coretemp/temp1", "sensor.temperature"), TACHO_ABSENT_ERROR);
    tree_write(root, "sys/class/hwmon/hwmon0/temp1_input", "61000\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(of("sensor", "coretemp/temp1", "sensor.temperature"), 61);
    bed_fini(&bed);
}

static void test_thermal_zones_without_hwmon(void)
{
    static const char *const files[] = {"name",      "temp1_input", "temp1_label",
                                        "temp1_max", "temp1_crit",  "temp2_input"};
    begin();
    for (int i = 0; i < 6; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "sys/class/hwmon/hwmon0/%s", files[i]);
        tree_remove(root, path);
    }
    tree_write(root, "sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    tree_write(root, "sys/class/thermal/thermal_zone0/temp", "47000\n");
    tree_write(root, "sys/class/thermal/thermal_zone0/trip_point_0_type", "critical\n");
    tree_write(root, "sys/class/thermal/thermal_zone0/trip_point_0_temp", "105000\n");
    first_tick();
    CU_ASSERT_EQUAL(of("sensor", "thermal_zone0", "sensor.temperature"), 47);
    CU_ASSERT_EQUAL(of("sensor", "thermal_zone0", "sensor.critical"), 105);
    bed_fini(&bed);
}

static void test_link_is_read_when_it_changed(void)
{
    begin();
    first_tick();
    tree_write(root, "sys/class/net/eth0/speed", "25000\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(of("nic", "eth0", "network.speed"), 1.25e9);
    tree_write(root, "sys/class/net/eth0/carrier_changes", "4\n");
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(of("nic", "eth0", "network.speed"), 3.125e9);
    tree_write(root, "sys/class/net/eth0/operstate", "down\n");
    bed_tick(&bed, 1);
    CU_ASSERT_STRING_EQUAL(text(&bed, "nic", 1, "network.state"), "down");
    bed_fini(&bed);
}

static void test_mounts_change(void)
{
    begin();
    first_tick();
    CU_ASSERT(nth_of("filesystem", "/data disk") >= 0);
    tree_write(root, "proc/1/mountinfo",
               "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 8:9 / /proc rw - ext4 /dev/sda9 rw\n");
    bed_tick(&bed, 10);
    CU_ASSERT_EQUAL(nth_of("filesystem", "/data disk"), -1);
    CU_ASSERT(of("filesystem", "/proc", "filesystem.total") > 0);
    bed_fini(&bed);
}

static void test_single_node_is_not_shown(void)
{
    begin();
    tree_remove(root, "sys/devices/system/node/node1/meminfo");
    tree_remove(root, "sys/devices/system/node/node1");
    first_tick();
    CU_ASSERT_EQUAL(HOST("numa.nodes"), 1);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "numa"), 0);
    tree_write(root, "sys/devices/system/node/node1/meminfo",
               "Node 1 MemTotal: 8 kB\nNode 1 MemFree: 2 kB\n");
    bed_tick(&bed, 10);
    CU_ASSERT_EQUAL(of("numa", "node1", "memory.used"), 6 * 1024);
    bed_fini(&bed);
}

/* ---- kernels that tell less ------------------------------------------------------------------ */

static void test_old_kernel(void)
{
    begin();
    tree_write(root, "proc/stat", "cpu 100 0 50 1000\ncpu0 100 0 50 1000\n");
    tree_write(root, "proc/meminfo",
               "MemTotal: 1000 kB\nMemFree: 400 kB\nBuffers: 50 kB\nCached: 50 kB\n");
    tree_write(root, "proc/diskstats", "   8 0 sda 1 2 3 4\n   8 16 nvme0n1\n garbage\n");
    tree_remove(root, "proc/pressure/io");
    tree_write(root, "proc/loadavg", "0.1 0.2\n");
    first_tick();
    CU_ASSERT_EQUAL(HOST("cpu.time.idle"), 1000.0 / (double)sysconf(_SC_CLK_TCK));
    CU_ASSERT_EQUAL(absence("host", "node", "cpu.time.iowait"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(HOST("memory.used"), 500 * 1024);
    CU_ASSERT_EQUAL(absence("host", "node", "memory.available"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "swap.used"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "pressure.io.some.avg10"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "system.boot_time"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "load.1"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "disk"), 0);
    tree_write(root, "proc/stat", "cpu 110 0 60 1080\ncpu0 100 0 50 1000\n");
    bed_tick(&bed, 1);
    NEAR(HOST("cpu.user"), 10);
    CU_ASSERT_EQUAL(absence("host", "node", "cpu.steal"), TACHO_ABSENT_UNSUPPORTED);
    bed_fini(&bed);
}

static void test_empty_files(void)
{
    static const char *const files[] = {"stat",      "meminfo", "vmstat",       "loadavg", "uptime",
                                        "diskstats", "net/dev", "pressure/cpu", "cpuinfo", "1/stat",
                                        "42/stat",   "7/stat",  "1/mountinfo"};
    begin();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "proc/%s", files[i]);
        tree_write(root, path, "");
    }
    first_tick();
    bed_tick(&bed, 1);
    CU_ASSERT_EQUAL(absence("host", "node", "memory.total"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "system.uptime"), TACHO_ABSENT_ERROR);
    CU_ASSERT_EQUAL(HOST("processes.count"), 0);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "process"), 0);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "disk") + fakehost_count(bed.batch, "nic"), 0);
    bed_fini(&bed);
}

static void test_nothing_there(void)
{
    struct tacho_err err;
    int result;
    char empty[300];
    (void)snprintf(empty, sizeof empty, "%s/nothing", harness_tmpdir());
    CU_ASSERT_EQUAL(mkdir(empty, 0755), 0);
    bed_init(&bed, empty);
    bed_open(&bed);
    bed.batch = fakehost_collect(&bed.host, bed.self, &result, &err);
    CU_ASSERT_EQUAL(result, TACHO_PARTIAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/proc/stat"));
    CU_ASSERT_EQUAL(absence("host", "node", "cpu.user"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "memory.used"), TACHO_ABSENT_UNSUPPORTED);
    CU_ASSERT_EQUAL(absence("host", "node", "processes.count"), TACHO_ABSENT_UNSUPPORTED);
    bed_fini(&bed);
}

static void test_options_switch_off(void)
{
    begin();
    bed.options.per_core = bed.options.sensors = bed.options.numa = bed.options.pressure = 0;
    bed.options.processes = 0;
    const char *only[] = {"nvme*"};
    const char *without[] = {"lo"};
    bed.options.disks = (struct tacho_strings){.items = only, .count = 1};
    bed.options.interfaces_exclude = (struct tacho_strings){.items = without, .count = 1};
    first_tick();
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "cpu") + fakehost_count(bed.batch, "sensor"), 0);
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "numa") + fakehost_count(bed.batch, "process"), 0);
    CU_ASSERT_PTR_NULL(fakehost_find(bed.batch, "host", 0, "pressure.cpu.some.avg10"));
    CU_ASSERT_PTR_NULL(fakehost_find(bed.batch, "host", 0, "processes.count"));
    CU_ASSERT_EQUAL(fakehost_count(bed.batch, "disk"), 1);
    CU_ASSERT(nth_of("nic", "vethab12") >= 0 && nth_of("nic", "lo") < 0);
    bed_fini(&bed);
}

/* ---- file systems that do not answer --------------------------------------------------------- */

static pthread_mutex_t hang_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hang_changed = PTHREAD_COND_INITIALIZER;
static bool hanging;

/* Stands before the C library's: the share of our tree hangs while told so. */
int statvfs(const char *path, struct statvfs *out)
{
    if (strstr(path, "/net/share")) {
        pthread_mutex_lock(&hang_lock);
        while (hanging) {
            pthread_cond_wait(&hang_changed, &hang_lock);
        }
        pthread_mutex_unlock(&hang_lock);
    }
    memset(out, 0, sizeof *out);
    out->f_frsize = 4096;
    out->f_blocks = 100;
    out->f_bfree = 40;
    out->f_bavail = 20;
    out->f_files = 10;
    out->f_ffree = 4;
    return 0;
}

static void set_hanging(bool now)
{
    pthread_mutex_lock(&hang_lock);
    hanging = now;
    pthread_cond_broadcast(&hang_changed);
    pthread_mutex_unlock(&hang_lock);
}

static int64_t real_mono_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *status_of_share(void)
{
    int64_t nth = nth_of("filesystem", "/net/share");
    return nth < 0 ? "" : text(&bed, "filesystem", (uint32_t)nth, "filesystem.status");
}

static void test_space(void)
{
    begin();
    first_tick();
    CU_ASSERT_EQUAL(of("filesystem", "/", "filesystem.total"), 409600);
    CU_ASSERT_EQUAL(of("filesystem", "/", "filesystem.used"), 60 * 4096);
    CU_ASSERT_EQUAL(of("filesystem", "/", "filesystem.available"), 20 * 4096);
    NEAR(of("filesystem", "/", "filesystem.utilization"), 75);
    CU_ASSERT_EQUAL(of("filesystem", "/", "filesystem.inodes.used"), 6);
    bed_fini(&bed);
}

static void test_hanging_share(void)
{
    begin();
    bed.options.network_filesystems = 1;
    bed.options.filesystem_timeout_ns = 20000000;
    bed.host.table.mono_ns = real_mono_ns;
    first_tick();
    CU_ASSERT_STRING_EQUAL(status_of_share(), "ok");
    set_hanging(true);
    bed_tick(&bed, 0);
    CU_ASSERT_STRING_EQUAL(status_of_share(), "stuck");
    CU_ASSERT_EQUAL(absence("filesystem", "/net/share", "filesystem.used"), TACHO_ABSENT_STALE);
    CU_ASSERT_EQUAL(of("filesystem", "/", "filesystem.used"), 60 * 4096);
    bed_tick(&bed, 0);
    CU_ASSERT_STRING_EQUAL(status_of_share(), "stuck");
    set_hanging(false);
    for (int i = 0; i < 200 && strcmp(status_of_share(), "ok") != 0; i++) {
        bed_tick(&bed, 0);
        (void)usleep(5000);
    }
    CU_ASSERT_STRING_EQUAL(status_of_share(), "ok");
    /* Closing does not wait for one that hangs; its thread ends when the answer comes. */
    set_hanging(true);
    bed_tick(&bed, 0);
    bed_fini(&bed);
    set_hanging(false);
    (void)usleep(50000);
}

const struct test tests[] = {
    {"cpu_shares", test_cpu_shares},
    {"device_rates", test_device_rates},
    {"process_cpu", test_process_cpu},
    {"counters_that_go_back", test_counters_that_go_back},
    {"idle_that_goes_back", test_idle_that_goes_back},
    {"devices_come_and_go", test_devices_come_and_go},
    {"sensors_come_and_go", test_sensors_come_and_go},
    {"thermal_zones_without_hwmon", test_thermal_zones_without_hwmon},
    {"link_is_read_when_it_changed", test_link_is_read_when_it_changed},
    {"mounts_change", test_mounts_change},
    {"single_node_is_not_shown", test_single_node_is_not_shown},
    {"old_kernel", test_old_kernel},
    {"empty_files", test_empty_files},
    {"nothing_there", test_nothing_there},
    {"options_switch_off", test_options_switch_off},
    {"space", test_space},
    {"hanging_share", test_hanging_share},
    {NULL, NULL},
};
