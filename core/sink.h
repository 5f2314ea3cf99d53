/* SPDX-License-Identifier: MIT */
/*
 * The thread of a sink or service: takes batches from its queue, hands them to the plugin, flushes,
 * tries again after a failure and counts what it has to drop. Commands are answered in between.
 */
#ifndef TACHO_CORE_SINK_H
#define TACHO_CORE_SINK_H

/* To be handed to instance_start. */
void *sink_run(void *instance);

#endif
