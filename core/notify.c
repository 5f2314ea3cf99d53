/* SPDX-License-Identifier: MIT */
/* Notification by datagram; see notify.h. */
#include "core/notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/clock.h"

void notify_send(const char *lines)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof address.sun_path) {
        return;
    }
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* an abstract name */
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) {
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
        (void)sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const void *)&address, size);
        close(fd);
    }
}

void notify_reloading(void)
{
    char lines[64];
    snprintf(lines, sizeof lines, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_mono_ns() / 1000);
    notify_send(lines);
}

int64_t notify_watchdog_ns(void)
{
    const char *interval = getenv("WATCHDOG_USEC");
    const char *process = getenv("WATCHDOG_PID");
    if (!interval || (process && strtol(process, NULL, 10) != getpid())) {
        return 0;
    }
    return strtoll(interval, NULL, 10) * NS_PER_US;
}
