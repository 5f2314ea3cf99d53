/* SPDX-License-Identifier: MIT */
/* Inside of the provider that plays a log again. */
#ifndef TACHO_PLUGINS_REPLAY_H
#define TACHO_PLUGINS_REPLAY_H

#include <stdint.h>

/* "2026-01-31T23:59:59.5Z", "2026-01-31T23:59:59+02:00", "2026-01-31 23:59", "2026-01-31" (UTC
 * where nothing else is said), or "@SECONDS" since 1970. 0, or -1 when text is no time. */
int replay_parse_time(const char *text, int64_t *out_wall_ns);

#endif
