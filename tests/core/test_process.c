/* SPDX-License-Identifier: MIT */
/* Who a process is: from the real /proc, from odd texts, and from the cgroups of many engines. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/process.h"
#include "tests/harness.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "11111111-2222-3333-4444-555555555555"
#define UID_SYSTEMD "11111111_2222_3333_4444_555555555555"

static void test_self(void)
{
    struct tacho_process process = {.struct_size = sizeof process};
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(process_read("/proc", getpid(), &process, &err), TACHO_OK);
    CU_ASSERT_EQUAL(process.pid, getpid());
    CU_ASSERT_EQUAL(process.uid, getuid());
    CU_ASSERT_PTR_NOT_NULL(strstr(process.command, "test_process"));
    CU_ASSERT_STRING_EQUAL(process.name, "test_process");
    int64_t age_ns = clock_wall_ns() - process.start_wall_ns;
    CU_ASSERT(age_ns > -2 * NS_PER_S && age_ns < 600 * NS_PER_S);
}

static void test_gone(void)
{
    struct tacho_process process = {.struct_size = sizeof process};
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(process_read("/proc", 0x3fffffff, &process, &err), TACHO_NO_DATA);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "1073741823"));
}

static void test_smaller_struct_of_an_older_plugin(void)
{
    struct tacho_process process;
    memset(&process, 0x55, sizeof process);
    process.struct_size = offsetof(struct tacho_process, user);
    CU_ASSERT_EQUAL(process_read("/proc", getpid(), &process, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(process.pid, getpid());
    CU_ASSERT_EQUAL(process.user[0], 0x55);
}

static void write_file(const char *folder, const char *name, const char *text, size_t length)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fwrite(text, 1, length, file);
    fclose(file);
}

static void test_odd_names(void)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s/77", harness_tmpdir());
    mkdir(folder, 0700);
    const char stat[] = "77 (a) b\n(c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20\n";
    const char cmdline[] = "python3\0-m\0vllm\0--model\nx\0\0";
    write_file(folder, "stat", stat, sizeof stat - 1);
    write_file(folder, "cmdline", cmdline, sizeof cmdline - 1);
    write_file(harness_tmpdir(), "stat", "cpu 1 2\nbtime 1000\n", 19);
    struct tacho_process process = {.struct_size = sizeof process};
    CU_ASSERT_EQUAL(process_read(harness_tmpdir(), 77, &process, NULL), TACHO_OK);
    CU_ASSERT_STRING_EQUAL(process.name, "a) b\n(c");
    CU_ASSERT_EQUAL(process.start_ticks, 4242);
    CU_ASSERT_EQUAL(process.start_wall_ns,
                    1000 * NS_PER_S + 4242 * (NS_PER_S / sysconf(_SC_CLK_TCK)));
    CU_ASSERT_STRING_EQUAL(process.command, "python3 -m vllm --model x");

    write_file(folder, "stat", "77 (cut", 7);
    CU_ASSERT_EQUAL(process_read(harness_tmpdir(), 77, &process, NULL), TACHO_NO_DATA);
}

struct group {
    const char *text, *container, *runtime, *pod, *job, *unit;
};

static const struct group groups[] = {
    {"0::/init.scope\n", "", "", "", "", "init.scope"},
    {"0::/system.slice/sshd.service\n", "", "", "", "", "sshd.service"},
    {"0::/user.slice/user-1000.slice/session-3.scope\n", "", "", "", "", "session-3.scope"},
    {"0::/system.slice/docker-" HEX ".scope\n", HEX, "docker", "", "", ""},
    {"12:memory:/docker/" HEX "\n1:name=systemd:/docker/" HEX "\n0::/system.slice/x.service\n", HEX,
     "docker", "", "", "x.service"},
    {"0::/machine.slice/libpod-" HEX ".scope/container\n", HEX, "podman", "", "", ""},
    {"0::/machine.slice/libpod-conmon-" HEX ".scope\n", "", "", "", "",
     "libpod-conmon-" HEX ".scope"},
    {"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_SYSTEMD
     ".slice/cri-containerd-" HEX ".scope\n",
     HEX, "containerd", UID, "", ""},
    {"0::/kubepods.slice/kubepods-pod" UID_SYSTEMD ".slice/crio-" HEX ".scope\n", HEX, "cri-o", UID,
     "", ""},
    {"4:memory:/kubepods/burstable/pod" UID "/" HEX "\n", HEX, "containerd", UID, "", ""},
    {"4:memory:/system.slice/containerd.service/kubepods-besteffort-pod" UID_SYSTEMD
     ".slice:cri-containerd:" HEX "\n",
     HEX, "containerd", UID, "", "containerd.service"},
    {"4:memory:/slurm/uid_1000/job_4711/step_0/task_1\n", "", "", "", "4711", ""},
    {"0::/system.slice/slurmstepd.scope/job_99/step_batch/user/task_0\n", "", "", "", "99",
     "slurmstepd.scope"},
    {"0::/\n", "", "", "", "", ""},
    {"nonsense", "", "", "", "", ""},
    {"0:/one-colon", "", "", "", "", ""},
    {"", "", "", "", "", ""},
};

static void test_cgroups(void)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const struct group *group = &groups[i];
        struct tacho_process process = {0};
        process_read_cgroup(group->text, &process);
        CU_ASSERT_STRING_EQUAL(process.container, group->container);
        CU_ASSERT_STRING_EQUAL(process.runtime, group->runtime);
        CU_ASSERT_STRING_EQUAL(process.pod, group->pod);
        CU_ASSERT_STRING_EQUAL(process.job, group->job);
        CU_ASSERT_STRING_EQUAL(process.unit, group->unit);
    }
}

static void test_namespace(void)
{
    struct stat status;
    if (stat("/proc/self/ns/pid", &status) != 0) {
        harness_skip("/proc has no namespaces");
        return;
    }
    CU_ASSERT_EQUAL(process_sees_host("/proc"), status.st_ino == 4026531836u);
    CU_ASSERT_EQUAL(process_sees_host("/nowhere"), 0);
}

const struct test tests[] = {
    {"self", test_self},
    {"gone", test_gone},
    {"smaller_struct_of_an_older_plugin", test_smaller_struct_of_an_older_plugin},
    {"odd_names", test_odd_names},
    {"cgroups", test_cgroups},
    {"namespace", test_namespace},
    {NULL, NULL},
};
