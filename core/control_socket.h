/* SPDX-License-Identifier: MIT */
/* The file of the control socket: made so that nobody else can ever connect, replaced only when
 * nobody listens, removed only while it is still ours. For control*.c only. */
#ifndef TACHO_CORE_CONTROL_SOCKET_H
#define TACHO_CORE_CONTROL_SOCKET_H

#include <sys/stat.h>

#include "core/plugin.h"

struct control_socket {
    int fd; /* listening, non-blocking */
    char *path;
    dev_t device; /* which file is ours */
    ino_t inode;
};

int control_socket_init(struct control_socket *socket, const char *path, struct tacho_err *err);
void control_socket_fini(struct control_socket *socket);

/* TACHO_OK when the peer runs as our own user or as root. */
int control_socket_peer(int fd, struct tacho_err *err);

#endif
