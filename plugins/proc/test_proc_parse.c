/* SPDX-License-Identifier: MIT */
/* Parsers alone: odd texts of our own, and what other projects captured on many machines. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/proc/mounts.h"
#include "plugins/proc/test_bed.h"

#define TEXT(literal) (literal), (sizeof(literal) - 1)

/* ---- the cursor ------------------------------------------------------------------------------ */

static void test_numbers(void)
{
    struct scan scan = scan_text(TEXT("  12 18446744073709551615 18446744073709551616 x"));
    uint64_t value = 0;
    CU_ASSERT(scan_u64(&scan, &value) && value == 12);
    CU_ASSERT(scan_u64(&scan, &value) && value == UINT64_MAX);
    CU_ASSERT(scan_u64(&scan, &value) && value == UINT64_MAX);
    CU_ASSERT(!scan_u64(&scan, &value));
    scan = scan_text(TEXT("00000000000000000000007"));
    CU_ASSERT(scan_u64(&scan, &value) && value == 7);
    scan = scan_text(TEXT("99999999999999999999999999"));
    CU_ASSERT(scan_u64(&scan, &value) && value == UINT64_MAX);
    int64_t integer = 0;
    scan = scan_text(TEXT("-40000"));
    CU_ASSERT(scan_i64(&scan, &integer) && integer == -40000);
    scan = scan_text(TEXT("-"));
    CU_ASSERT(!scan_i64(&scan, &integer));
}

static void test_decimals(void)
{
    static const char *const texts[] = {"0.00", "12.34", "3600.25", "7", "0.1", "123456789.123456"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct scan scan = scan_text(texts[i], strlen(texts[i]));
        double value = -1;
        CU_ASSERT(scan_decimal(&scan, &value));
        CU_ASSERT_EQUAL(value, strtod(texts[i], NULL));
    }
    struct scan scan = scan_text(TEXT(".5"));
    double value;
    CU_ASSERT(!scan_decimal(&scan, &value));
    scan = scan_text(TEXT("99999999999999999999.99999999999999999999 8"));
    CU_ASSERT(scan_decimal(&scan, &value) && value > 1e19);
    CU_ASSERT(scan_decimal(&scan, &value) && value == 8);
}

static void test_table_relearns(void)
{
    static const char *const keys[] = {"Mem", "MemFree"};
    struct table table;
    table_init(&table, keys, 2, 0);
    table_parse(&table, TEXT("MemFree: 5 kB\nOther: 1\nMem:  7 kB\n"));
    CU_ASSERT(table_has(&table, 0) && table.values[0] == 7);
    CU_ASSERT(table_has(&table, 1) && table.values[1] == 5);
    table_parse(&table, TEXT("MemFree: 6 kB\nOther: 1\nMem: 8 kB\n"));
    CU_ASSERT(table.values[0] == 8 && table.values[1] == 6);
    table_parse(&table, TEXT("New: 1\nMemFree: 9 kB\nMem: 10 kB\n")); /* other order */
    CU_ASSERT(table.values[0] == 10 && table.values[1] == 9);
    table_parse(&table, TEXT("New: 1\nMemFree: 11 kB\nX: 1\nMem: 12 kB\n")); /* one line more */
    CU_ASSERT(table.values[0] == 12 && table.values[1] == 11);
    table_parse(&table, TEXT("MemFree:\nMem 3"));
    CU_ASSERT(table_has(&table, 0) && !table_has(&table, 1));
    table_parse(&table, "", 0);
    CU_ASSERT_EQUAL(table.found, 0);
}

/* ---- processes, mounts, identity ------------------------------------------------------------- */

static void test_process_names(void)
{
    static const char tail[] = "R 1 2 3 4 -1 6 7 8 9 10 11 12 13 14 -20 -19 5 18 19 20 21";
    static const char *const names[] = {"plain", "with space", "(nested)", "a) R 1 (b",
                                        "",      ")",          "new\nline"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[256];
        struct process_stat stat;
        int length = snprintf(line, sizeof line, "77 (%s) %s", names[i], tail);
        CU_ASSERT(process_parse(&stat, line, (size_t)length));
        CU_ASSERT_EQUAL(stat.name_length, strlen(names[i]));
        CU_ASSERT_EQUAL(memcmp(stat.name, names[i], stat.name_length), 0);
        CU_ASSERT_EQUAL(stat.state, 'R');
        CU_ASSERT_EQUAL(stat.cpu_ticks, 23);
        CU_ASSERT_EQUAL(stat.threads, 5);
        CU_ASSERT_EQUAL(stat.start_ticks, 19);
        CU_ASSERT_EQUAL(stat.virtual_bytes, 20);
        CU_ASSERT_EQUAL(stat.resident_pages, 21);
        /* Cut anywhere it is refused or right, never read past its end. */
        for (int cut = 0; cut < length - 1; cut++) {
            char *copy = malloc((size_t)cut + 1);
            memcpy(copy, line, (size_t)cut);
            CU_ASSERT(!process_parse(&stat, copy, (size_t)cut) || cut == length - 1);
            free(copy);
        }
    }
}

static void test_mount_lines(void)
{
    struct mount_line line;
    struct scan scan = scan_text(TEXT("1 2 8:1 / / rw a:1 b:2 c:3 - ext4 /dev/x rw"));
    CU_ASSERT(mount_parse(&scan, &line));
    CU_ASSERT_EQUAL(strncmp(line.type, "ext4 ", 5), 0);
    CU_ASSERT_EQUAL(line.type_length, 4);
    CU_ASSERT_EQUAL(strncmp(line.source, "/dev/x ", 7), 0);
    static const char *const broken[] = {"", "1", "1 2 8:1 / / rw", "1 2 8:1 / / rw -",
                                         "1 2 8:1 / / rw - ext4"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        scan = scan_text(broken[i], strlen(broken[i]));
        CU_ASSERT(!mount_parse(&scan, &line));
    }
    struct options options = {.root = ""};
    struct mount_list list;
    CU_ASSERT_EQUAL(
        mounts_list(TEXT("1 2 8:1 / /a\\040b\\134c\\04 rw - ext4 /dev/x rw\n"), &options, &list),
        0);
    CU_ASSERT_EQUAL_FATAL(list.count, 1);
    CU_ASSERT_STRING_EQUAL(list.items[0].point, "/a b\\c\\04");
    mounts_free(&list);
}

static void test_os_release(void)
{
    char name[64];
    os_release_parse(TEXT("A=1\nPRETTY_NAME=\"Some Linux 1\"\nB=2\n"), name, sizeof name);
    CU_ASSERT_STRING_EQUAL(name, "Some Linux 1");
    os_release_parse(TEXT("PRETTY_NAME=Bare"), name, sizeof name);
    CU_ASSERT_STRING_EQUAL(name, "Bare");
    os_release_parse(TEXT("PRETTY_NAME=\""), name, sizeof name);
    CU_ASSERT_STRING_EQUAL(name, "\"");
    os_release_parse(TEXT(""), name, sizeof name);
    CU_ASSERT_STRING_EQUAL(name, "");
}

static void test_users(void)
{
    struct processes processes = {0};
    char digits[12];
    users_parse(&processes,
                TEXT("root:x:0:0::/:\nzoe:x:2000:1:\nbob:x:1000:1:\n:x:5:\nbad\nx:y\n"));
    CU_ASSERT_EQUAL(processes.user_count, 3);
    CU_ASSERT_STRING_EQUAL(users_find(&processes, 0, digits), "root");
    CU_ASSERT_STRING_EQUAL(users_find(&processes, 1000, digits), "bob");
    CU_ASSERT_STRING_EQUAL(users_find(&processes, 2000, digits), "zoe");
    CU_ASSERT_STRING_EQUAL(users_find(&processes, 5, digits), "5");
    CU_ASSERT_STRING_EQUAL(users_find(&processes, UINT32_MAX, digits), "4294967295");
    free(processes.users);
}

static void test_cpuinfo_of_other_machines(void)
{
    struct cpuinfo info;
    cpuinfo_parse(&info, TEXT("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"
                              "CPU part\t: 0xd0c\n\nprocessor\t: 1\nCPU implementer\t: 0x41\n"));
    CU_ASSERT_STRING_EQUAL(info.vendor, "0x41");
    CU_ASSERT_EQUAL(info.logical, 2);
    CU_ASSERT_EQUAL(info.cores, 0);
    cpuinfo_parse(&info, TEXT("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"
                              "clock\t\t: 2300.000000MHz\nplatform\t: pSeries\n"));
    CU_ASSERT_STRING_EQUAL(info.model, "POWER9, altivec supported");
    CU_ASSERT_EQUAL(info.frequency, 2.3e9);
    cpuinfo_parse(&info, TEXT("processor: 0\nflags: a aperfmperf b hypervisor\nmodel name:\n"));
    CU_ASSERT(info.hypervisor && info.measured);
    CU_ASSERT_STRING_EQUAL(info.model, "");
}

/* ---- others' captures ------------------------------------------------------------------------ */

static char content[1 << 20];

static size_t load(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(content, 1, sizeof content - 1, file) : 0;
    if (file) {
        (void)fclose(file);
    }
    content[length] = '\0';
    return length;
}

/* Every capture goes through every parser, in memory of exactly its size. */
static int parse_everything(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)ftw;
    if (type != FTW_F) {
        return 0;
    }
    size_t length = load(path);
    char *copy = malloc(length ? length : 1);
    memcpy(copy, content, length);
    struct options options = {.root = "/nowhere"};
    struct cpu cpu = {0};
    struct disks disks = {0};
    struct network network = {0};
    struct reader reader;
    struct mount_list mounts;
    struct cpuinfo info;
    struct process_stat stat;
    struct pressure_line lines[2];
    CU_ASSERT_EQUAL(reader_init(&reader, "/", 1), 0);
    cpu_init(&cpu, &options);
    disks_init(&disks, &options);
    network_init(&network, &options);
    for (int twice = 0; twice < 2; twice++) {
        cpu_parse(&cpu, copy, length);
        disks_parse(&disks, &reader, copy, length);
        network_parse(&network, &reader, copy, length);
    }
    cpu_fini(&cpu, &reader);
    disks_fini(&disks, &reader);
    network_fini(&network, &reader);
    reader_fini(&reader);
    cpuinfo_parse(&info, copy, length);
    (void)process_parse(&stat, copy, length);
    pressure_parse(lines, copy, length);
    CU_ASSERT_EQUAL(mounts_list(copy, length, &options, &mounts), 0);
    mounts_free(&mounts);
    free(copy);
    return 0;
}

static void test_captures_do_no_harm(void)
{
    const char *folder = harness_fixture("proc");
    if (!folder) {
        harness_skip("no captures");
        return;
    }
    CU_ASSERT_EQUAL(nftw(folder, parse_everything, 16, FTW_PHYS), 0);
}

static void test_captured_trees(void)
{
    static const struct {
        const char *root;
        double memory_kib, disks, nics, cores;
    } trees[] = {{"proc/node_exporter", 3742148, 1, 0, 8}, {"proc/procfs", NAN, 0, 1, 0}};
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) {
        const char *root = harness_fixture(trees[i].root);
        struct bed bed;
        struct tacho_err err;
        int result;
        if (!root) {
            harness_skip("no captures");
            return;
        }
        bed_init(&bed, root);
        bed_open(&bed);
        bed.batch = fakehost_collect(&bed.host, bed.self, &result, &err);
        CU_ASSERT(result == TACHO_OK || result == TACHO_PARTIAL);
        CU_ASSERT(isnan(trees[i].memory_kib) || HOST("memory.total") == trees[i].memory_kib * 1024);
        CU_ASSERT(fakehost_count(bed.batch, "disk") >= trees[i].disks);
        CU_ASSERT(fakehost_count(bed.batch, "nic") >= trees[i].nics);
        CU_ASSERT(fakehost_count(bed.batch, "cpu") >= trees[i].cores);
        CU_ASSERT(fakehost_count(bed.batch, "process") >= 1);
        bed_fini(&bed);
    }
}

static int check_cpuinfo(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    struct cpuinfo info;
    (void)status;
    (void)ftw;
    if (type == FTW_F) {
        cpuinfo_parse(&info, content, load(path));
        if (!info.model[0] && !info.vendor[0]) {
            printf("    neither model nor vendor in %s\n", path);
            CU_FAIL("cpuinfo");
        }
    }
    return 0;
}

static void test_captured_cpuinfo(void)
{
    const char *folder = harness_fixture("proc/cpuinfo");
    struct cpuinfo info;
    if (!folder) {
        harness_skip("no captures");
        return;
    }
    CU_ASSERT_EQUAL(nftw(folder, check_cpuinfo, 16, FTW_PHYS), 0);
    const char *large = harness_fixture("proc/cpuinfo/x86_64-64cpu-linux6.2");
    CU_ASSERT_PTR_NOT_NULL_FATAL(large);
    cpuinfo_parse(&info, content, load(large));
    CU_ASSERT_EQUAL(info.logical, 8);
    CU_ASSERT_EQUAL(info.sockets, 1);
    CU_ASSERT_EQUAL(info.cores, 4);
    CU_ASSERT(info.frequency > 1e9 && info.measured && !info.hypervisor);
}

static void test_captured_process_with_newline(void)
{
    const char *path = harness_fixture("proc/jc/pid_stat_w_space_and_nl_in_comm");
    struct process_stat stat;
    if (!path) {
        harness_skip("no captures");
        return;
    }
    CU_ASSERT(process_parse(&stat, content, load(path)));
    CU_ASSERT(memchr(stat.name, '\n', stat.name_length) != NULL);
    CU_ASSERT(stat.threads >= 1 && stat.threads < 10000);
}

const struct test tests[] = {
    {"numbers", test_numbers},
    {"decimals", test_decimals},
    {"table_relearns", test_table_relearns},
    {"process_names", test_process_names},
    {"mount_lines", test_mount_lines},
    {"os_release", test_os_release},
    {"users", test_users},
    {"cpuinfo_of_other_machines", test_cpuinfo_of_other_machines},
    {"captures_do_no_harm", test_captures_do_no_harm},
    {"captured_trees", test_captured_trees},
    {"captured_cpuinfo", test_captured_cpuinfo},
    {"captured_process_with_newline", test_captured_process_with_newline},
    {NULL, NULL},
};
