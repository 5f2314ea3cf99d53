/* SPDX-License-Identifier: MIT */
/*
 * The program as a process: started by posix_spawn, which is safe among threads, never by way of a
 * shell, in a process group of its own, and ended with all that it has started in that group.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/exec/exec.h"

#define POLITE_MS 300
#define FORCED_MS 500

/* ---- environment ----------------------------------------------------------------------------- */

/* Whether one of the given settings replaces "NAME=…". */
static bool replaced(const char *setting, const struct tacho_strings *given)
{
    size_t length = strcspn(setting, "=") + 1;
    for (uint32_t i = 0; i < given->count; i++) {
        if (strncmp(setting, given->items[i], length) == 0) {
            return true;
        }
    }
    return false;
}

char **exec_environment(const struct exec_options *options)
{
    const struct tacho_strings *given = &options->environment;
    size_t ours = 0;
    while (environ[ours]) {
        ours++;
    }
    char **envp = calloc(ours + given->count + 1, sizeof *envp);
    size_t count = 0;
    for (size_t i = 0; envp && i < ours; i++) {
        if (!replaced(environ[i], given)) {
            envp[count++] = environ[i];
        }
    }
    for (uint32_t i = 0; envp && i < given->count; i++) {
        envp[count++] = (char *)given->items[i];
    }
    return envp;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* What is done in the child before the program: streams, folder, nothing of ours left open. */
static int make_actions(posix_spawn_file_actions_t *actions, const struct exec_options *options,
                        int out, int err)
{
    int problem = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    problem = problem ? problem : posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    problem = problem ? problem : posix_spawn_file_actions_adddup2(actions, err, STDERR_FILENO);
    problem = problem ? problem : posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (!problem && options->folder[0]) {
        problem = posix_spawn_file_actions_addchdir_np(actions, options->folder);
    }
    return problem;
}

/* A process group of its own, and signals as they are at the start of any program. */
static int make_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    int problem = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    problem = problem ? problem : posix_spawnattr_setpgroup(attributes, 0);
    problem = problem ? problem : posix_spawnattr_setsigmask(attributes, &none);
    return problem ? problem : posix_spawnattr_setsigdefault(attributes, &all);
}

static int spawn(const struct exec_options *options, char **envp, int out, int err, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **argv = calloc((size_t)options->command.count + 1, sizeof *argv);
    if (!argv) {
        return ENOMEM;
    }
    for (uint32_t i = 0; i < options->command.count; i++) {
        argv[i] = (char *)options->command.items[i];
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int problem = make_actions(&actions, options, out, err);
    problem = problem ? problem : make_attributes(&attributes);
    problem = problem ? problem : posix_spawnp(out_pid, argv[0], &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(argv);
    return problem;
}

static void close_pair(const int pair[2])
{
    if (pair[0] >= 0) {
        close(pair[0]);
        close(pair[1]);
    }
}

/* Two pipes whose reading ends do not block; errno, or 0. */
static int make_pipes(int out[2], int err[2])
{
    if (pipe2(out, O_CLOEXEC) != 0) {
        out[0] = -1;
        return errno;
    }
    if (pipe2(err, O_CLOEXEC) != 0) {
        err[0] = -1;
        return errno;
    }
    if (fcntl(out[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(err[0], F_SETFL, O_NONBLOCK) != 0) {
        return errno;
    }
    return 0;
}

static int fail_start(const struct exec_options *options, int problem, struct tacho_err *err)
{
    const char *program = options->command.items[0];
    const char *hint = "";
    if (problem == ENOENT && strchr(program, ' ') && options->command.count == 1) {
        hint = "; a command with arguments is a list: ( \"program\", \"argument\" )";
    } else if (problem == ENOENT && options->folder[0]) {
        hint = "; check the folder too";
    }
    return tacho_fail(err, TACHO_RETRY, "cannot start %.200s: %s%s", program, strerror(problem),
                      hint);
}

int exec_child_start(struct exec_child *child, const struct exec_options *options, char **envp,
                     struct tacho_err *err)
{
    int out[2] = {-1, -1};
    int complaints[2] = {-1, -1};
    pid_t pid = 0;
    int problem = make_pipes(out, complaints);
    problem = problem ? problem : spawn(options, envp, out[1], complaints[1], &pid);
    if (problem) {
        close_pair(out);
        close_pair(complaints);
        return fail_start(options, problem, err);
    }
    close(out[1]);
    close(complaints[1]);
    *child = (struct exec_child){
        .pid = pid, .out = out[0], .err = complaints[0], .out_open = true, .err_open = true};
    return TACHO_OK;
}

/* ---- ending ---------------------------------------------------------------------------------- */

bool exec_child_ended(const struct exec_child *child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

/* Waits for the leader's end, at most that long. */
static bool wait_ended(const struct exec_child *child, int limit_ms)
{
    for (int waited_ms = 0; !exec_child_ended(child); waited_ms += 2) {
        if (waited_ms >= limit_ms) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2 * EXEC_NS_PER_MS}, NULL);
    }
    return true;
}

int exec_child_stop(struct exec_child *child)
{
    int status = -1;
    if (!exec_child_ended(child)) {
        (void)kill(-child->pid, SIGTERM);
        (void)wait_ended(child, POLITE_MS);
    }
    /* Not reaped yet, so the group's number cannot be another's: whoever is left in it is ours. */
    (void)kill(-child->pid, SIGKILL);
    if (!wait_ended(child, FORCED_MS) || waitpid(child->pid, &status, WNOHANG) != child->pid) {
        status = -1;
    }
    close(child->out);
    close(child->err);
    child->pid = 0;
    return status;
}

const char *exec_child_status(int status, char *out, size_t size)
{
    if (WIFEXITED(status)) {
        (void)snprintf(out, size, "exit code %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        (void)snprintf(out, size, "signal %d (%s)", WTERMSIG(status),
                       sigdescr_np(WTERMSIG(status)) ? sigdescr_np(WTERMSIG(status)) : "unknown");
    } else {
        (void)snprintf(out, size, "an unknown state");
    }
    return out;
}
