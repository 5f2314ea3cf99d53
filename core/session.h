/* SPDX-License-Identifier: MIT */
/*
 * The session number: grows with each start of the daemon, so that (host, session, source, seq)
 * names a batch once and for all.
 */
#ifndef TACHO_CORE_SESSION_H
#define TACHO_CORE_SESSION_H

#include <stdint.h>

#include "core/plugin.h"

/* One more than at the last start, kept in FOLDER/session (made when missing). With "" as folder,
 * the seconds of the wall clock: good as long as nobody sets it back. */
int session_next(const char *folder, uint64_t *out, struct tacho_err *err);

#endif
