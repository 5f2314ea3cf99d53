/* SPDX-License-Identifier: MIT */
/* Counts of durations; see histogram.h. A bucket that is full stays full: 65535 calls within one
 * reporting interval leave the percentiles where they were. */
#include "core/histogram.h"

#include <math.h>
#include <string.h>

#include "core/clock.h"

void histogram_reset(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

static uint32_t bucket_of(int64_t duration_ns)
{
    if (duration_ns < (INT64_C(1) << HISTOGRAM_LOWEST)) {
        return 0;
    }
    uint32_t doubling = 63 - (uint32_t)__builtin_clzll((uint64_t)duration_ns);
    uint32_t step = (uint32_t)(duration_ns >> (doubling - 4)) & (HISTOGRAM_STEPS - 1);
    uint32_t bucket = (doubling - HISTOGRAM_LOWEST) * HISTOGRAM_STEPS + step;
    return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The middle of a bucket, in seconds. */
static double seconds_of(uint32_t bucket)
{
    double begin = ldexp(1.0 + (bucket % HISTOGRAM_STEPS + 0.5) / HISTOGRAM_STEPS,
                         (int)(bucket / HISTOGRAM_STEPS) + HISTOGRAM_LOWEST);
    return begin / (double)NS_PER_S;
}

void histogram_add(struct histogram *histogram, int64_t duration_ns)
{
    duration_ns = duration_ns > 0 ? duration_ns : 0;
    double seconds = (double)duration_ns / (double)NS_PER_S;
    if (histogram->count == 0 || duration_ns < histogram->min_ns) {
        histogram->min_ns = duration_ns;
    }
    if (histogram->count == 0 || duration_ns > histogram->max_ns) {
        histogram->max_ns = duration_ns;
    }
    histogram->count++;
    histogram->sum += seconds;
    histogram->sum_squares += seconds * seconds;
    uint16_t *bucket = &histogram->buckets[bucket_of(duration_ns)];
    *bucket = (uint16_t)(*bucket + (*bucket < UINT16_MAX));
}

/* Fills the percentiles in one walk; `wanted` ascends. */
static void percentiles(const struct histogram *histogram, const double *wanted, double **out,
                        int count)
{
    uint64_t total = 0, seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        total += histogram->buckets[i];
    }
    int at = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && at < count; i++) {
        seen += histogram->buckets[i];
        while (at < count && seen > 0 && (double)seen >= wanted[at] * (double)total) {
            double low = (double)histogram->min_ns / (double)NS_PER_S;
            double high = (double)histogram->max_ns / (double)NS_PER_S;
            *out[at++] = fmin(fmax(seconds_of(i), low), high);
        }
    }
}

void histogram_summary(const struct histogram *histogram, struct tacho_summary *out)
{
    *out = (struct tacho_summary){.count = histogram->count,
                                  .min = NAN,
                                  .max = NAN,
                                  .mean = NAN,
                                  .stddev = NAN,
                                  .p50 = NAN,
                                  .p90 = NAN,
                                  .p95 = NAN,
                                  .p99 = NAN,
                                  .integral = NAN};
    if (histogram->count == 0) {
        return;
    }
    double count = (double)histogram->count;
    out->min = (double)histogram->min_ns / (double)NS_PER_S;
    out->max = (double)histogram->max_ns / (double)NS_PER_S;
    out->mean = histogram->sum / count;
    out->stddev = sqrt(fmax(histogram->sum_squares / count - out->mean * out->mean, 0));
    static const double wanted[] = {0.5, 0.9, 0.95, 0.99};
    percentiles(histogram, wanted, (double *[]){&out->p50, &out->p90, &out->p95, &out->p99}, 4);
}
