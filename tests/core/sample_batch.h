/* SPDX-License-Identifier: MIT */
/* Batches for the tests of encoders and decoders: one that is always the same, and random ones. */
#ifndef TACHO_TESTS_CORE_SAMPLE_BATCH_H
#define TACHO_TESTS_CORE_SAMPLE_BATCH_H

#include <stdint.h>

#include "core/batch.h"

/* An id of the catalogue or, registered on first use, of a metric of our own. */
int32_t sample_metric(const char *name);

/* Every kind of value, absents, labels, a parent, volatile entities, odd texts; the same on every
 * machine and in every run. Sealed. */
struct tacho_batch *sample_fixed(struct batch_pool *pool);

/* 8 GPUs with 24 fields each, values as a busy server gives them. Sealed. */
struct tacho_batch *sample_gpus(struct batch_pool *pool);

/* A host with about `values` numbers on entities of 12 each. Sealed. */
struct tacho_batch *sample_host(struct batch_pool *pool, uint32_t values);

/* Anything that the filling functions accept, decided by the seed. Open. */
struct tacho_batch *sample_random(struct batch_pool *pool, uint64_t seed);

#endif
