/* SPDX-License-Identifier: MIT */
/* Lines over a non-blocking socket with a deadline; see control_io.h. */
#include "core/control_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"

enum { CHUNK = 16384 };

/* Waits until fd is ready or the deadline passes. */
static int wait_ready(int fd, short events, int64_t deadline_ns)
{
    for (;;) {
        int wait_ms = -1;
        if (deadline_ns != CONTROL_FOREVER) {
            int64_t left_ns = deadline_ns - clock_mono_ns();
            if (left_ns <= 0) {
                return CONTROL_IO_TIMEOUT;
            }
            int64_t left_ms = left_ns / NS_PER_MS + 1;
            wait_ms = left_ms > 60000 ? 60000 : (int)left_ms;
        }
        int ready = poll(&(struct pollfd){.fd = fd, .events = events}, 1, wait_ms);
        if (ready > 0) {
            return CONTROL_IO_OK;
        }
        if (ready < 0 && errno != EINTR) {
            return CONTROL_IO_FAILED;
        }
    }
}

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

int control_io_read(int fd, struct buf *in, int64_t deadline_ns, size_t *out_length)
{
    size_t seen = 0;
    for (;;) {
        const char *end =
            in->length > seen ? memchr(in->data + seen, '\n', in->length - seen) : NULL;
        if (end) {
            *out_length = (size_t)(end - in->data) + 1;
            return CONTROL_IO_OK;
        }
        seen = in->length;
        if (in->length >= in->limit) {
            return CONTROL_IO_LONG;
        }
        size_t room = in->limit - in->length < CHUNK ? in->limit - in->length : CHUNK;
        if (!buf_reserve(in, room)) {
            errno = ENOMEM;
            return CONTROL_IO_FAILED;
        }
        ssize_t got = recv(fd, in->data + in->length, room, 0);
        if (got > 0) {
            in->length += (size_t)got;
            continue;
        }
        if (got == 0) {
            return CONTROL_IO_END;
        }
        int waited = would_block() ? wait_ready(fd, POLLIN, deadline_ns) : CONTROL_IO_FAILED;
        if (waited != CONTROL_IO_OK) {
            return waited;
        }
    }
}

void control_io_drop(struct buf *in, size_t length)
{
    memmove(in->data, in->data + length, in->length - length);
    in->length -= length;
}

int control_io_write(int fd, const void *data, size_t length, int64_t deadline_ns)
{
    const char *at = data;
    while (length > 0) {
        ssize_t put = send(fd, at, length, MSG_NOSIGNAL);
        if (put >= 0) {
            at += put;
            length -= (size_t)put;
            continue;
        }
        int waited = would_block() ? wait_ready(fd, POLLOUT, deadline_ns) : CONTROL_IO_FAILED;
        if (waited != CONTROL_IO_OK) {
            return waited;
        }
    }
    return CONTROL_IO_OK;
}

int control_io_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ? CONTROL_IO_FAILED
                                                                    : CONTROL_IO_OK;
}

int control_io_address(const char *path, struct sockaddr_un *out, struct tacho_err *err)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof out->sun_path) {
        return tacho_fail(err, TACHO_CONFIG,
                          "control socket '%s': the path must have 1 to %zu characters", path,
                          sizeof out->sun_path - 1);
    }
    memcpy(out->sun_path, path, length + 1);
    return TACHO_OK;
}
