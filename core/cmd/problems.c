/* SPDX-License-Identifier: MIT */
/* Problems of a configuration for a person: what check, config and run print alike. */
#include "core/cmd/problems.h"

void cmd_print_problems(const struct conf_problems *problems, FILE *out)
{
    for (uint32_t i = 0; i < problems->count; i++) {
        char line[2048];
        conf_problem_print(&problems->items[i], line, sizeof line);
        fprintf(out, "%s\n", line);
    }
}
