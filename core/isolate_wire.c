/* SPDX-License-Identifier: MIT */
/* Frames between parent and child; see isolate_wire.h. */
#include "core/isolate_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/clock.h"

enum { CHUNK = 65536, KEEP = 1 << 20 };

size_t wire_begin(struct buf *out, int kind, int64_t number)
{
    struct wire_head head = {.kind = (uint32_t)kind, .number = number};
    size_t at = out->length;
    buf_put(out, &head, sizeof head);
    return at;
}

void wire_end(struct buf *out, size_t at)
{
    if (!out->failed) {
        uint32_t length = (uint32_t)(out->length - at - sizeof(struct wire_head));
        memcpy(out->data + at + offsetof(struct wire_head, length), &length, sizeof length);
    }
}

void wire_put(struct buf *out, int kind, int64_t number, const void *payload, size_t length)
{
    size_t at = wire_begin(out, kind, number);
    if (length > 0) {
        buf_put(out, payload, length);
    }
    wire_end(out, at);
}

void wire_put_text(struct buf *out, const char *text)
{
    buf_put(out, text, strlen(text) + 1);
}

const char *wire_take_text(const char **at, const char *end)
{
    const char *text = *at;
    const char *stop = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
    if (!stop) {
        return NULL;
    }
    *at = stop + 1;
    return text;
}

/* Waits until the socket takes more; false past the deadline. */
static bool wait_writable(int fd, int64_t deadline_ns)
{
    int wait_ms = -1;
    if (deadline_ns != INT64_MAX) {
        int64_t left_ns = deadline_ns - clock_mono_ns();
        if (left_ns <= 0) {
            return false;
        }
        wait_ms = (int)(left_ns / NS_PER_MS) + 1;
    }
    (void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, wait_ms);
    return true;
}

int wire_send(int fd, const void *data, size_t length, int64_t deadline_ns)
{
    const char *at = data;
    while (length > 0) {
        ssize_t put = send(fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put >= 0) {
            at += put;
            length -= (size_t)put;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_writable(fd, deadline_ns)) {
                errno = ETIMEDOUT;
                return -1;
            }
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

ssize_t wire_receive(int fd, struct buf *in)
{
    if (!buf_reserve(in, CHUNK)) {
        errno = ENOMEM;
        return -1;
    }
    ssize_t got = recv(fd, in->data + in->length, in->size - in->length, MSG_DONTWAIT);
    if (got > 0) {
        in->length += (size_t)got;
    }
    return got;
}

int wire_first(const struct buf *in, struct wire_head *out_head, const char **out_payload)
{
    if (in->length < sizeof *out_head) {
        return 0;
    }
    memcpy(out_head, in->data, sizeof *out_head);
    if (out_head->length > WIRE_LIMIT) {
        return -1;
    }
    if (in->length - sizeof *out_head < out_head->length) {
        return 0;
    }
    *out_payload = in->data + sizeof *out_head;
    return 1;
}

void wire_drop(struct buf *in, const struct wire_head *head)
{
    size_t length = sizeof *head + head->length;
    memmove(in->data, in->data + length, in->length - length);
    in->length -= length;
    if (in->length == 0 && in->size > KEEP) {
        buf_fini(in); /* one huge batch does not make the buffer huge for ever */
    }
}
