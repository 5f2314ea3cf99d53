/* SPDX-License-Identifier: MIT */
/*
 * nvtop as a process: started without a shell in a process group of its own, read without blocking,
 * ended with all that it has started. A driver can hold it where no signal reaches it; then it is
 * remembered, and no second one is started beside it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugins/nvtop/nvtop.h"

#define POLITE_MS 100
#define FORCED_MS 400
#define READ_BYTES 16384
#define ARGUMENTS 64
#define LOOK_NS (20 * NVTOP_NS_PER_MS) /* how often the end is looked for while pipes stay open */

void nvtop_child_init(struct nvtop_child *child, size_t limit)
{
    *child = (struct nvtop_child){.limit = limit, .out = -1, .err = -1};
}

/* ---- starting -------------------------------------------------------------------------------- */

static int make_actions(posix_spawn_file_actions_t *actions, int out, int err)
{
    int problem = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    problem = problem ? problem : posix_spawn_file_actions_adddup2(actions, out, STDOUT_FILENO);
    problem = problem ? problem : posix_spawn_file_actions_adddup2(actions, err, STDERR_FILENO);
    return problem ? problem : posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

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

static int spawn(char **argv, char **envp, int out, int err, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int problem = make_actions(&actions, out, err);
    problem = problem ? problem : make_attributes(&attributes);
    problem = problem ? problem : posix_spawnp(out_pid, argv[0], &actions, &attributes, argv, envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return problem;
}

static void close_pair(const int pair[2])
{
    if (pair[0] >= 0) {
        close(pair[0]);
        close(pair[1]);
    }
}

static int make_pipe(int pair[2])
{
    if (pipe2(pair, O_CLOEXEC) != 0) {
        pair[0] = -1;
        return errno;
    }
    return fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

static void gather_arguments(const struct tacho_strings *command, const char *const *more,
                             char *argv[ARGUMENTS + 1])
{
    size_t count = 0;
    for (uint32_t i = 0; i < command->count && count < ARGUMENTS; i++) {
        argv[count++] = (char *)command->items[i];
    }
    while (*more && count < ARGUMENTS) {
        argv[count++] = (char *)*more++;
    }
    argv[count] = NULL;
}

int nvtop_child_start(struct nvtop_child *child, const struct tacho_strings *command,
                      const char *const *more, char **envp, struct tacho_err *err)
{
    char *argv[ARGUMENTS + 1];
    int out[2] = {-1, -1};
    int complaints[2] = {-1, -1};
    if (child->stuck && waitpid(child->stuck, NULL, WNOHANG) == 0) {
        return tacho_fail(err, TACHO_RETRY,
                          "process %d of nvtop cannot be ended (the driver holds it); no other is "
                          "started until it is gone",
                          (int)child->stuck);
    }
    child->stuck = 0;
    gather_arguments(command, more, argv);
    int problem = make_pipe(out);
    problem = problem ? problem : make_pipe(complaints);
    problem = problem ? problem : spawn(argv, envp, out[1], complaints[1], &child->pid);
    if (problem) {
        close_pair(out);
        close_pair(complaints);
        child->pid = 0;
        return tacho_fail(err, problem == ENOENT ? TACHO_UNSUPPORTED : TACHO_RETRY,
                          "cannot start %.100s: %s%s", argv[0], strerror(problem),
                          problem == ENOENT ? "; install nvtop 3.2.0 or later" : "");
    }
    close(out[1]);
    close(complaints[1]);
    child->out = out[0];
    child->err = complaints[0];
    child->out_open = child->err_open = true;
    child->used = 0;
    child->flooded = false;
    child->complaint[0] = '\0';
    return TACHO_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Room for one more read, within the limit. */
static bool make_room(struct nvtop_child *child)
{
    if (child->size - child->used >= READ_BYTES) {
        return true;
    }
    size_t size = child->used + 4 * READ_BYTES;
    char *data = child->used < child->limit ? realloc(child->data, size) : NULL;
    if (!data) {
        child->flooded = true;
        return false;
    }
    child->data = data;
    child->size = size;
    return true;
}

static bool at_end(ssize_t got)
{
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/* Takes all that is there now. */
static void read_output(struct nvtop_child *child)
{
    while (child->out_open && make_room(child)) {
        ssize_t got = read(child->out, child->data + child->used, READ_BYTES);
        child->out_open = !at_end(got);
        if (got <= 0) {
            return;
        }
        child->used += (size_t)got;
    }
}

/* The first line of standard error explains most; the rest is thrown away. */
static void read_complaints(struct nvtop_child *child)
{
    char text[1024];
    ssize_t got = child->err_open ? read(child->err, text, sizeof text) : -1;
    if (child->err_open) {
        child->err_open = !at_end(got);
    }
    for (ssize_t i = 0; i < got && !child->complaint[0]; i++) {
        if ((unsigned char)text[i] > ' ') {
            int length = (int)(got - i);
            (void)snprintf(child->complaint, sizeof child->complaint, "%.*s", length, text + i);
            child->complaint[strcspn(child->complaint, "\r\n")] = '\0';
        }
    }
}

static bool ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

enum nvtop_wait nvtop_child_pump(struct nvtop_child *child, int wake, int64_t wait_ns)
{
    struct pollfd fds[] = {{.fd = wake, .events = POLLIN},
                           {.fd = child->out_open ? child->out : -1, .events = POLLIN},
                           {.fd = child->err_open ? child->err : -1, .events = POLLIN}};
    bool gone = ended(child->pid); /* asked before reading: then all it wrote is in the pipes */
    int64_t most_ns = gone ? 0 : LOOK_NS;
    wait_ns = wait_ns < most_ns ? wait_ns : most_ns;
    int ready = poll(fds, 3, wait_ns > 0 ? (int)(wait_ns / NVTOP_NS_PER_MS) + 1 : 0);
    if (ready > 0 && fds[0].revents) {
        return NVTOP_WOKEN;
    }
    size_t before = child->used;
    read_output(child);
    read_complaints(child);
    if (gone) {
        return NVTOP_ENDED;
    }
    return child->used > before ? NVTOP_READY : NVTOP_LATE;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static bool wait_ended(pid_t pid, int limit_ms)
{
    for (int waited_ms = 0; !ended(pid); waited_ms += 2) {
        if (waited_ms >= limit_ms) {
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2 * NVTOP_NS_PER_MS}, NULL);
    }
    return true;
}

int nvtop_child_stop(struct nvtop_child *child)
{
    int status = -1;
    if (!child->pid) {
        return status;
    }
    if (!ended(child->pid)) {
        (void)kill(-child->pid, SIGTERM);
        (void)wait_ended(child->pid, POLITE_MS);
    }
    /* Not reaped yet, so the group's number cannot be another's. */
    (void)kill(-child->pid, SIGKILL);
    if (!wait_ended(child->pid, FORCED_MS) || waitpid(child->pid, &status, WNOHANG) != child->pid) {
        child->stuck = child->pid;
        status = -1;
    }
    close(child->out);
    close(child->err);
    child->pid = 0;
    return status;
}

void nvtop_child_fini(struct nvtop_child *child)
{
    (void)nvtop_child_stop(child);
    if (child->stuck) {
        (void)waitpid(child->stuck, NULL, WNOHANG);
    }
    free(child->data);
}

const char *nvtop_child_status(const struct nvtop_child *child, int status, char *out, size_t size)
{
    const char *colon = child->complaint[0] ? ": " : "";
    if (status != -1 && WIFEXITED(status)) {
        (void)snprintf(out, size, "exit code %d%s%s", WEXITSTATUS(status), colon, child->complaint);
    } else if (status != -1 && WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        (void)snprintf(out, size, "signal %d (%s)%s%s", WTERMSIG(status), name ? name : "unknown",
                       colon, child->complaint);
    } else {
        (void)snprintf(out, size, "an unknown state%s%s", colon, child->complaint);
    }
    return out;
}
