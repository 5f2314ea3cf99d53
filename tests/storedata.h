/* SPDX-License-Identifier: MIT */
/*
 * Batches for the tests and measurements of logs: like those of a host, and made from one number,
 * so that whoever reads one back can tell which it was and whether every value in it is right.
 */
#ifndef TACHO_TESTS_STOREDATA_H
#define TACHO_TESTS_STOREDATA_H

#include <stdint.h>

#include "core/batch.h"

#define STOREDATA_START_NS INT64_C(1700000000000000000)
#define STOREDATA_STEP_NS INT64_C(1000000000)

/* A sealed batch; `cpus` gives its size (some 12 values each). NULL without memory. */
struct tacho_batch *storedata_batch(struct batch_pool *pool, uint64_t number, uint32_t cpus);

/* The number of a batch made by storedata_batch, or 0 when any value in it is not as it was made.
 * Open batches (as they come from a cursor) are sealed by this. */
uint64_t storedata_check(struct tacho_batch *batch);

#endif
