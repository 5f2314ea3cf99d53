/* SPDX-License-Identifier: MIT */
/* What the tests of proc share: an instance on a tree of files, with a clock that they move. */
#ifndef TACHO_PLUGINS_PROC_TEST_BED_H
#define TACHO_PLUGINS_PROC_TEST_BED_H

#include <math.h>

#include "plugins/proc/proc.h"
#include "tests/fakehost.h"
#include "tests/harness.h"

struct bed {
    struct fakehost host;
    struct options options;
    void *self;
    const struct tacho_batch *batch; /* of the last tick */
};

/* Options as their presets are; then bed_open. */
void bed_init(struct bed *bed, const char *root);
void bed_open(struct bed *bed);

/* One collect, `after_s` seconds after the last. */
void bed_tick(struct bed *bed, double after_s);
void bed_fini(struct bed *bed);

/* A value of the last batch; NaN, "" or -1 when it is not there or of another type. */
double number(const struct bed *bed, const char *kind, uint32_t nth, const char *metric);
const char *text(const struct bed *bed, const char *kind, uint32_t nth, const char *metric);
int reason(const struct bed *bed, const char *kind, uint32_t nth, const char *metric);

/* A copy of our tree that may be changed; the path lives until the next call. */
const char *tree_copy(void);

/* Writes, or removes, a file of such a copy; folders are made. */
void tree_write(const char *root, const char *path, const char *content);
void tree_remove(const char *root, const char *path);

#define NEAR(actual, expected) \
    CU_ASSERT_DOUBLE_EQUAL(actual, expected, 1e-4 * fabs((double)(expected)) + 1e-9)
#define HOST(metric) number(&bed, "host", 0, metric)

#endif
