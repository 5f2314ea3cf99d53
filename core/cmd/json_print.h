/* SPDX-License-Identifier: MIT */
/* Prints JSON for a person without reading its numbers: digits stay as they were written. */
#ifndef TACHO_CORE_CMD_JSON_PRINT_H
#define TACHO_CORE_CMD_JSON_PRINT_H

#include <stdbool.h>
#include <stdio.h>

/* `json` is valid; indented by two when `pretty`, else on one line. Ends with a newline. */
void json_print(FILE *out, const char *json, bool pretty);

#endif
