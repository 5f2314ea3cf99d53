/* SPDX-License-Identifier: MIT */
/* tacho version */
#include <stdio.h>

#include "core/cmd/cmd.h"
#include "core/plugin.h"

int cmd_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("tacho %s (plugin ABI %d.%d)\n", PACKAGE_VERSION, TACHO_ABI_MAJOR, TACHO_ABI_MINOR);
    return CMD_OK;
}
