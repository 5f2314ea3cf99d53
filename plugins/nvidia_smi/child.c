/* SPDX-License-Identifier: MIT */
/*
 * nvidia-smi as a process: in a process group of its own, with the C locale and a low limit of
 * descriptors (with a huge one the program has been seen to take gigabytes), and ended with all
 * that it has started. A process that hangs in the driver cannot be ended: it is reported, not
 * waited for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/nvidia_smi/nvidia_smi.h"

#define POLITE_MS 300
#define FORCED_MS 500
#define DESCRIPTORS 4096
#define PIPE_BYTES (1 << 20)

/* ---- finding --------------------------------------------------------------------------------- */

bool smi_child_find(const char *name, char *out, size_t size)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/')) {
        (void)snprintf(out, size, "%s", name);
        return access(out, X_OK) == 0;
    }
    for (path = path ? path : "/usr/bin:/bin"; *path;) {
        size_t length = strcspn(path, ":");
        int written = snprintf(out, size, "%.*s/%s", (int)length, path, name);
        if (length > 0 && written > 0 && (size_t)written < size && access(out, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* Our environment with LC_ALL=C. */
static char **make_environment(void)
{
    size_t count = 0;
    while (environ[count]) {
        count++;
    }
    char **envp = calloc(count + 2, sizeof *envp);
    size_t used = 0;
    for (size_t i = 0; envp && i < count; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) != 0) {
            envp[used++] = environ[i];
        }
    }
    if (envp) {
        envp[used] = (char *)"LC_ALL=C";
    }
    return envp;
}

static void lower_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > DESCRIPTORS) {
        limit.rlim_cur = DESCRIPTORS;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* In the new process, where only system calls are safe. */
static _Noreturn void become(const char *path, char *const *argv, char *const *envp, int out)
{
    sigset_t none;
    int input = open("/dev/null", O_RDONLY);
    (void)setpgid(0, 0);
    (void)dup2(input, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    (void)close_range(3, ~0U, 0);
    lower_descriptors();
    for (int number = 1; number < 32; number++) {
        (void)signal(number, SIG_DFL);
    }
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)execve(path, argv, envp);
    _exit(127);
}

static pid_t spawn(const char *path, char *const *argv, char *const *envp, int out)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    /* No handler of the daemon's may run in the child. */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (pid == 0) {
        become(path, argv, envp, out);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid > 0) {
        (void)setpgid(pid, pid); /* both do it, so that it holds for whoever comes first */
    }
    return pid;
}

int smi_child_start(struct smi_child *child, const char *path, const char *const *argv,
                    struct tacho_err *err)
{
    int out[2] = {-1, -1};
    char **envp = make_environment();
    pid_t pid = -1;
    if (envp && pipe2(out, O_CLOEXEC) == 0) {
        (void)fcntl(out[0], F_SETPIPE_SZ, PIPE_BYTES);
        (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
        pid = spawn(path, (char *const *)argv, envp, out[1]);
    }
    int problem = errno;
    free(envp);
    if (out[1] >= 0) {
        close(out[1]);
    }
    if (pid < 0) {
        if (out[0] >= 0) {
            close(out[0]);
        }
        return tacho_fail(err, TACHO_RETRY, "cannot start %.200s: %s", path, strerror(problem));
    }
    *child = (struct smi_child){.pid = pid, .out = out[0]};
    return TACHO_OK;
}

/* ---- ending ---------------------------------------------------------------------------------- */

bool smi_child_ended(const struct smi_child *child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid != 0;
}

static bool wait_ended(const struct smi_child *child, int limit_ms)
{
    for (int waited_ms = 0; !smi_child_ended(child); waited_ms += 2) {
        if (waited_ms >= limit_ms) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2 * SMI_NS_PER_MS}, NULL);
    }
    return true;
}

int smi_child_stop(struct smi_child *child)
{
    int status = -1;
    if (!smi_child_ended(child)) {
        (void)kill(-child->pid, SIGTERM);
        (void)wait_ended(child, POLITE_MS);
    }
    /* Not reaped yet, so the group's number cannot be another's: whoever is left in it is ours. */
    (void)kill(-child->pid, SIGKILL);
    close(child->out);
    if (!wait_ended(child, FORCED_MS) || waitpid(child->pid, &status, WNOHANG) != child->pid) {
        return -1;
    }
    child->pid = 0;
    return status;
}

const char *smi_child_status(int status, char *out, size_t size)
{
    if (WIFEXITED(status)) {
        (void)snprintf(out, size, "exit code %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        (void)snprintf(out, size, "signal %d (%s)", WTERMSIG(status), name ? name : "unknown");
    } else {
        (void)snprintf(out, size, "an unknown state");
    }
    return out;
}
