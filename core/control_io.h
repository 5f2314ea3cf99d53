/* SPDX-License-Identifier: MIT */
/*
 * What both ends of the control socket do with a line: non-blocking descriptors, an absolute
 * deadline on the monotonic clock (CONTROL_FOREVER: none), a stated limit. For control*.c only.
 */
#ifndef TACHO_CORE_CONTROL_IO_H
#define TACHO_CORE_CONTROL_IO_H

#include <stdint.h>
#include <sys/un.h>

#include "core/buf.h"
#include "core/plugin.h"

#define CONTROL_FOREVER INT64_MAX
#define CONTROL_REPLY (64u << 20) /* most bytes of an answer */

/* How the answer to a request that worked begins; what follows, up to the last brace, is the reply
 * as the command wrote it. */
#define CONTROL_REPLY_PREFIX "{\"ok\":true,\"reply\":"

enum control_io {
    CONTROL_IO_OK = 0,
    CONTROL_IO_END,     /* the peer hung up */
    CONTROL_IO_TIMEOUT, /* the deadline passed */
    CONTROL_IO_LONG,    /* the line is longer than the buffer's limit */
    CONTROL_IO_FAILED,  /* see errno */
};

/* Reads until `in` holds a whole line and tells its length, newline included. What was read beyond
 * the line stays in `in`: take the line out with control_io_drop. */
int control_io_read(int fd, struct buf *in, int64_t deadline_ns, size_t *out_length);
void control_io_drop(struct buf *in, size_t length);
int control_io_write(int fd, const void *data, size_t length, int64_t deadline_ns);

int control_io_set_nonblocking(int fd);

int control_io_address(const char *path, struct sockaddr_un *out, struct tacho_err *err);

#endif
