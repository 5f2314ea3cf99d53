/* SPDX-License-Identifier: MIT */
/*
 * Providers asked a few times in this process, without threads or a daemon: for commands that find
 * no daemon to ask. What they publish, events included, is in a state like the daemon's. One
 * thread.
 */
#ifndef TACHO_CORE_ONESHOT_H
#define TACHO_CORE_ONESHOT_H

#include <stdint.h>

#include "core/conf.h"
#include "core/state.h"

struct oneshot;

/* NULL without memory. The texts are copied. */
struct oneshot *oneshot_new(const char *fleet, const char *host);
void oneshot_free(struct oneshot *oneshot);

/* Opens one provider: of a configuration (borrowed until oneshot_free), or a plugin by its name
 * with its presets. On failure the others are as they were. */
int oneshot_add(struct oneshot *oneshot, struct conf_instance *conf, struct tacho_err *err);
int oneshot_add_plugin(struct oneshot *oneshot, const char *plugin, struct tacho_err *err);

/* Asks each once; of a chain only until one works. TACHO_OK when any gave data, else the first
 * failure. Counters become rates with the second round: leave some time between the two. */
int oneshot_collect(struct oneshot *oneshot, struct tacho_err *err);

struct state *oneshot_state(struct oneshot *oneshot); /* borrowed */

#endif
