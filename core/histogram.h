/* SPDX-License-Identifier: MIT */
/*
 * How long things took: a fixed table of counts over durations, 16 steps for each doubling, so that
 * a percentile is right to 3 %. Least, greatest and mean are exact. No allocation; one thread at a
 * time.
 */
#ifndef TACHO_CORE_HISTOGRAM_H
#define TACHO_CORE_HISTOGRAM_H

#include <stdint.h>

#include "core/plugin.h"

enum {
    HISTOGRAM_STEPS = 16,     /* for each doubling */
    HISTOGRAM_LOWEST = 7,     /* below 128 ns all is one step */
    HISTOGRAM_DOUBLINGS = 36, /* to two hours */
    HISTOGRAM_BUCKETS = HISTOGRAM_STEPS * HISTOGRAM_DOUBLINGS,
};

struct histogram {
    uint64_t count;
    int64_t min_ns, max_ns;
    double sum, sum_squares; /* seconds */
    uint16_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_reset(struct histogram *histogram);
void histogram_add(struct histogram *histogram, int64_t duration_ns);

/* In seconds; what no duration was seen for is NaN. */
void histogram_summary(const struct histogram *histogram, struct tacho_summary *out);

#endif
