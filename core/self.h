/* SPDX-License-Identifier: MIT */
/*
 * The daemon's own numbers as an ordinary batch: one entity for the host with self.*, one for each
 * instance with instance.*. Calls of one interval are summarised.
 */
#ifndef TACHO_CORE_SELF_H
#define TACHO_CORE_SELF_H

#include <stdint.h>

#include "core/bus.h"
#include "core/host.h"
#include "core/instance.h"

struct self_facts {
    int64_t started_ns; /* monotonic clock */
    uint64_t generation, rejected;
    const char *hash; /* of the configuration */
    const struct bus *bus;
};

/* Fills an open batch of a source that uses global metric ids. */
void self_fill(struct tacho_batch *batch, const struct self_facts *facts, const char *host,
               struct instance *const *instances, uint32_t count);

/* What the operating system says of this process. */
struct self_process {
    int64_t memory_bytes, descriptors, threads; /* -1: not known */
    double cpu_seconds;
};
void self_process(struct self_process *out);

#endif
