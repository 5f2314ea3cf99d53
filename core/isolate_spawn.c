/* SPDX-License-Identifier: MIT */
/* Processes of isolated plugins; see isolate_spawn.h. */
#include "core/isolate_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/err.h"

#define LEFTOVER_NS (200 * NS_PER_MS) /* from SIGTERM to SIGKILL for what a child left behind */

/* The running file itself, also when it was replaced or removed since; where /proc is not mounted,
 * the path that we were started by. */
static const char *own_path(void)
{
    static const char link[] = "/proc/self/exe";
    if (access(link, X_OK) == 0) {
        return link;
    }
    unsigned long path = getauxval(AT_EXECFN);
    return path ? (const char *)path : link;
}

static int set_up(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int fd)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(actions, 2, 1);
    failed = failed ? failed : posix_spawn_file_actions_adddup2(actions, fd, SPAWN_FD);
    failed = failed ? failed : posix_spawn_file_actions_addclosefrom_np(actions, SPAWN_FD + 1);
    failed = failed ? failed : posix_spawnattr_setpgroup(attributes, 0);
    failed = failed ? failed : posix_spawnattr_setsigdefault(attributes, &all);
    failed = failed ? failed : posix_spawnattr_setsigmask(attributes, &none);
    return failed ? failed
                  : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP |
                                                             POSIX_SPAWN_SETSIGDEF |
                                                             POSIX_SPAWN_SETSIGMASK);
}

static int run(const char *name, int fd, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char number[] = {'0' + SPAWN_FD, '\0'}, program[] = "tacho", command[] = "isolate";
    char *copy = strdup(name);
    char *argv[] = {program, command, number, copy, NULL};
    if (!copy) {
        return ENOMEM;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int failed = set_up(&actions, &attributes, fd);
    if (!failed) {
        failed = posix_spawn(out_pid, own_path(), &actions, &attributes, argv, environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(copy);
    return failed;
}

int spawn_child(const char *name, pid_t *out_pid, int *out_fd, struct tacho_err *err)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
        return err_sys(err, TACHO_RETRY, "cannot make a socket for the child process");
    }
    errno = run(name, fds[1], out_pid);
    close(fds[1]);
    if (errno != 0) {
        close(fds[0]);
        return err_sys(err, TACHO_RETRY, "cannot start the child process '%s isolate'", own_path());
    }
    *out_fd = fds[0];
    return TACHO_OK;
}

bool spawn_has_ended(pid_t pid, char *out, size_t size)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        snprintf(out, size, "child %d ended; somebody else took its exit status", (int)pid);
        return errno == ECHILD;
    }
    if (info.si_pid == 0) {
        return false;
    }
    if (info.si_code == CLD_EXITED) {
        snprintf(out, size, "child %d ended with exit code %d", (int)pid, info.si_status);
    } else {
        const char *what = sigdescr_np(info.si_status);
        snprintf(out, size, "child %d ended by signal %d (%s)", (int)pid, info.si_status,
                 what ? what : "unknown");
    }
    return true;
}

/* The number of a group stays taken while one of its members lives, so the group is still the
 * child's own as long as it can be signalled. */
void spawn_clean_up(pid_t pid)
{
    (void)kill(-pid, SIGTERM);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    int64_t until_ns = clock_mono_ns() + LEFTOVER_NS;
    while (kill(-pid, 0) == 0) {
        if (clock_mono_ns() > until_ns) {
            (void)kill(-pid, SIGKILL);
            return;
        }
        clock_sleep_until(clock_mono_ns() + 10 * NS_PER_MS);
    }
}
