/* SPDX-License-Identifier: MIT */
/*
 * Errors: a code of enum tacho_result and one sentence, in the caller's storage (struct tacho_err
 * of plugin.h, filled by tacho_fail). No allocation, no logging: the caller decides who hears of
 * it.
 */
#ifndef TACHO_CORE_ERR_H
#define TACHO_CORE_ERR_H

#include "core/plugin.h"

/* Like tacho_fail, with ": " and the text of errno at the end. */
int err_sys(struct tacho_err *err, int code, const char *format, ...) TACHO_PRINTF(3, 4);

/* Puts text in front of what err says already ("opening the log: "), and keeps its code. */
void err_prefix(struct tacho_err *err, const char *format, ...) TACHO_PRINTF(2, 3);

void err_clear(struct tacho_err *err);

/* "ok", "retry", …: for logs, metrics and JSON. */
const char *err_result_name(int result);

#endif
