/* SPDX-License-Identifier: MIT */
/*
 * The thread of a provider: collects at its cadence, publishes, and follows the policy of each
 * result code; in a chain it works only while no better one does.
 */
#ifndef TACHO_CORE_PROVIDER_H
#define TACHO_CORE_PROVIDER_H

/* To be handed to instance_start. */
void *provider_run(void *instance);

#endif
