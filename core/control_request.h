/* SPDX-License-Identifier: MIT */
/* A request line into a call of the handler, and the answer into a line. For control*.c only. */
#ifndef TACHO_CORE_CONTROL_REQUEST_H
#define TACHO_CORE_CONTROL_REQUEST_H

#include "core/control.h"

/* Appends the whole answer, newline included. What the handler wrote is passed on as it stands, so
 * that numbers keep their digits, once it is known to be JSON. */
void control_answer(const char *line, size_t length, control_handler *handler, void *context,
                    struct buf *out);
void control_answer_error(const struct tacho_err *err, struct buf *out);

#endif
