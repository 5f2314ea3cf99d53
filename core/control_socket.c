/* SPDX-License-Identifier: MIT */
/*
 * The socket file; see control_socket.h. fchmod before bind gives the file its mode from the first
 * moment, whatever the umask is, which belongs to all threads. A lock on the folder makes "nobody
 * listens, so replace it" one step between two daemons that start together.
 */
#include "core/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/control_io.h"
#include "core/err.h"

enum { BACKLOG = 64, LOCK_TRIES = 50 };

/* Opens the folder of path, made when it is missing, and locks it. */
static int lock_folder(const char *path, int *out_fd, struct tacho_err *err)
{
    char *copy = strdup(path);
    if (!copy) {
        return tacho_fail(err, TACHO_RETRY, "control socket '%s': no memory", path);
    }
    const char *folder = dirname(copy);
    int code = TACHO_OK;
    (void)mkdir(folder, 0700);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        code = err_sys(err, TACHO_CONFIG, "control socket '%s': cannot open its folder", path);
    }
    for (int tries = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; tries++) {
        if (tries == LOCK_TRIES) {
            code = err_sys(err, TACHO_RETRY, "control socket '%s': cannot lock its folder", path);
            close(fd);
            break;
        }
        clock_sleep_until(clock_mono_ns() + 20 * NS_PER_MS);
    }
    free(copy);
    *out_fd = fd;
    return code;
}

/* Removes what a dead daemon left at the address. */
static int remove_stale(const struct sockaddr_un *address, struct tacho_err *err)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0) {
        return TACHO_OK;
    }
    if (!S_ISSOCK(status.st_mode)) {
        return tacho_fail(err, TACHO_CONFIG,
                          "control socket '%s': something else than a socket is there",
                          address->sun_path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return err_sys(err, TACHO_RETRY, "control socket '%s'", address->sun_path);
    }
    int failed = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 ? errno : 0;
    close(fd);
    if (failed != ECONNREFUSED && failed != ENOENT) {
        return tacho_fail(err, TACHO_CONFIG,
                          "control socket '%s': another daemon listens there; stop it, or give "
                          "this one its own 'control' path",
                          address->sun_path);
    }
    if (unlink(address->sun_path) != 0 && errno != ENOENT) {
        return err_sys(err, TACHO_CONFIG, "control socket '%s': cannot remove the old one",
                       address->sun_path);
    }
    return TACHO_OK;
}

static int bind_private(struct control_socket *made, const struct sockaddr_un *address,
                        struct tacho_err *err)
{
    struct stat status;
    made->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made->fd < 0 || fchmod(made->fd, 0600) != 0 ||
        bind(made->fd, (const struct sockaddr *)address, sizeof *address) != 0 ||
        stat(made->path, &status) != 0 || listen(made->fd, BACKLOG) != 0) {
        int code = err_sys(err, TACHO_CONFIG, "control socket '%s'", made->path);
        if (made->fd >= 0) {
            close(made->fd);
        }
        return code;
    }
    made->device = status.st_dev;
    made->inode = status.st_ino;
    return TACHO_OK;
}

int control_socket_init(struct control_socket *made, const char *path, struct tacho_err *err)
{
    struct sockaddr_un address;
    int folder = -1;
    int code = control_io_address(path, &address, err);
    if (code != TACHO_OK || (code = lock_folder(path, &folder, err)) != TACHO_OK) {
        return code;
    }
    made->path = strdup(path);
    if (!made->path) {
        code = tacho_fail(err, TACHO_RETRY, "control socket '%s': no memory", path);
    }
    if (code == TACHO_OK) {
        code = remove_stale(&address, err);
    }
    if (code == TACHO_OK) {
        code = bind_private(made, &address, err);
    }
    if (code != TACHO_OK) {
        free(made->path);
    }
    close(folder);
    return code;
}

void control_socket_fini(struct control_socket *made)
{
    struct stat status;
    close(made->fd);
    if (lstat(made->path, &status) == 0 && status.st_dev == made->device &&
        status.st_ino == made->inode) {
        (void)unlink(made->path);
    }
    free(made->path);
}

int control_socket_peer(int fd, struct tacho_err *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        return err_sys(err, TACHO_CONFIG, "cannot tell who you are");
    }
    if (peer.uid != 0 && peer.uid != geteuid()) {
        return tacho_fail(err, TACHO_CONFIG,
                          "user %u may not control this daemon; be its user (%u) or root", peer.uid,
                          geteuid());
    }
    return TACHO_OK;
}
