/* SPDX-License-Identifier: MIT */
/*
 * Inside the OpenMetrics encoder: the names of families (encode_family.c) and the label sets of
 * entities (encode_labels.c). What maps to what: core/FORMATS.md.
 */
#ifndef TACHO_CORE_ENCODE_OPENMETRICS_H
#define TACHO_CORE_ENCODE_OPENMETRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch.h"
#include "core/buf.h"
#include "core/metric.h"

#define FAMILY_NAME 256

enum family_type {
    FAMILY_GAUGE,
    FAMILY_COUNTER,
    FAMILY_INFO,  /* a gauge that is always 1 and has its text in the label `value` */
    FAMILY_FLAGS, /* a gauge with 0 or 1 for each name in the label `flag` */
    FAMILY_SUMMARY,
};

struct family {
    enum family_type type;
    bool ratio; /* percent inside, 0 to 1 outside */
    char name[FAMILY_NAME];
    size_t length; /* of name */
    char unit[40]; /* "" when none is stated */
    const char *help;
};

/* What the plain values of a metric belong to. */
void family_of_metric(const struct metric *metric, struct family *out);

/* What its summaries belong to. */
enum family_part { FAMILY_DISTRIBUTION, FAMILY_MIN, FAMILY_MAX };
void family_of_summary(const struct metric *metric, enum family_part part, struct family *out);

/* The lines that describe a family. */
void family_put_head(const struct family *family, struct buf *out);

/* A label set, written without braces as name="value",… */
struct label_set {
    size_t at, length; /* in the buffer it was written to */
    uint64_t hash;     /* the same for the same labels in another order */
};

/* Writes the labels of an entity: its own, what identifies its parents, and whose it is. */
struct label_set label_set_put(const struct tacho_batch *batch, uint32_t entity, struct buf *out);

/* A label's value with its escapes, without quotes. */
void label_put_value(struct buf *out, const char *value);

#endif
