/* SPDX-License-Identifier: MIT */
/* tacho isolate FD NAME: the child process of an isolated instance; started by the daemon only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/cmd/cmd.h"
#include "core/isolate.h"

int cmd_isolate(int argc, char **argv)
{
    int type = 0;
    socklen_t size = sizeof type;
    int fd = argc > 1 ? (int)strtol(argv[1], NULL, 10) : -1;
    if (fd < 3 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        fputs(
            "usage: tacho isolate FD NAME\n"
            "\n"
            "The child process of an isolated instance. The daemon starts it; there is nothing to\n"
            "be done with it by hand. 'tacho plugin check' runs a plugin outside of the daemon.\n",
            argc > 1 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
        return argc > 1 && strcmp(argv[1], "--help") == 0 ? CMD_OK : CMD_USAGE;
    }
    return isolate_child_main(fd);
}
