/* SPDX-License-Identifier: MIT */
/*
 * Sealed batches into wire formats. encode_batch is what sinks use (by way of the host table): each
 * format is made once for a batch and kept in it. The others write into a buffer of the caller's.
 * What they look like, byte by byte: core/FORMATS.md. Any thread.
 */
#ifndef TACHO_CORE_ENCODE_H
#define TACHO_CORE_ENCODE_H

#include <stddef.h>

#include "core/batch.h"
#include "core/buf.h"

/* enum tacho_format. The bytes live as long as the batch. TACHO_RETRY without memory. */
int encode_batch(const struct tacho_batch *batch, int format, const void **out_data,
                 size_t *out_length);

void encode_json(const struct tacho_batch *batch, struct buf *out);
void encode_msgpack(const struct tacho_batch *batch, struct buf *out);
void encode_schema(const struct tacho_batch *batch, struct buf *out);

/* One OpenMetrics page of several batches: samples of one family together, whatever batch they come
 * from, "# EOF" at the end. */
void encode_openmetrics_page(const struct tacho_batch *const *batches, size_t count,
                             struct buf *out);

/* The families of one batch, without "# EOF". */
void encode_openmetrics(const struct tacho_batch *batch, struct buf *out);

/* A string as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void encode_json_text(struct buf *out, const char *text);

/* A finite number in the shortest form that reads back as the same double. */
void encode_json_number(struct buf *out, double number);

#endif
