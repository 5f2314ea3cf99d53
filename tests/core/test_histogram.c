/* SPDX-License-Identifier: MIT */
/* Histograms against the exact answer. */
#include <math.h>

#include "core/clock.h"
#include "core/histogram.h"
#include "tests/harness.h"

static void check_near(double got, double wanted)
{
    CU_ASSERT_TRUE(fabs(got - wanted) <= 0.035 * wanted);
}

static void test_percentiles(void)
{
    static struct histogram histogram;
    struct tacho_summary summary;
    for (int64_t i = 1; i <= 1000; i++) {
        histogram_add(&histogram, i * NS_PER_MS);
    }
    histogram_summary(&histogram, &summary);
    CU_ASSERT_EQUAL(summary.count, 1000);
    CU_ASSERT_DOUBLE_EQUAL(summary.min, 0.001, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(summary.max, 1.0, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(summary.mean, 0.5005, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(summary.stddev, 0.288675, 1e-6);
    check_near(summary.p50, 0.5);
    check_near(summary.p90, 0.9);
    check_near(summary.p95, 0.95);
    check_near(summary.p99, 0.99);
    CU_ASSERT_TRUE(isnan(summary.integral));
}

static void test_all_magnitudes(void)
{
    for (int64_t ns = 200; ns < INT64_C(4000000000000); ns = ns * 3 / 2) {
        static struct histogram histogram;
        struct tacho_summary summary;
        histogram_reset(&histogram);
        histogram_add(&histogram, ns);
        histogram_add(&histogram, 2 * ns);
        histogram_add(&histogram, 2 * ns);
        histogram_summary(&histogram, &summary);
        check_near(summary.p50, 2e-9 * (double)ns);
    }
}

static void test_borders(void)
{
    static struct histogram histogram;
    struct tacho_summary summary;
    histogram_summary(&histogram, &summary);
    CU_ASSERT_EQUAL(summary.count, 0);
    CU_ASSERT_TRUE(isnan(summary.mean) && isnan(summary.p99));
    histogram_add(&histogram, -5);
    histogram_add(&histogram, INT64_MAX);
    histogram_summary(&histogram, &summary);
    CU_ASSERT_EQUAL(summary.min, 0);
    CU_ASSERT_TRUE(summary.p99 <= summary.max && summary.p50 >= summary.min);
}

const struct test tests[] = {
    {"percentiles", test_percentiles},
    {"all_magnitudes", test_all_magnitudes},
    {"borders", test_borders},
    {NULL, NULL},
};
