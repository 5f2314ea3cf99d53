/* SPDX-License-Identifier: MIT */
/* Problems of a configuration for a person: what check, config and run print alike. */
#ifndef TACHO_CORE_CMD_PROBLEMS_H
#define TACHO_CORE_CMD_PROBLEMS_H

#include <stdio.h>

#include "core/conf.h"

/* One line for each: "file:line: path: problem". */
void cmd_print_problems(const struct conf_problems *problems, FILE *out);

#endif
