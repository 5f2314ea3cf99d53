/* SPDX-License-Identifier: MIT */
/*
 * MessagePack back into batches: for logs, for isolated children and for a fleet. Input is not
 * trusted: sizes, nesting, names and counts are checked before anything is kept, a decoder
 * remembers at most DECODE_SCHEMAS schemas (the one used longest ago goes first), and bad bytes are
 * an error with a sentence, never a crash. One thread at a time.
 *
 * A schema is believed to have the id that it names, so those who do not trust each other do not
 * share a decoder: a hub has one for each host.
 */
#ifndef TACHO_CORE_DECODE_H
#define TACHO_CORE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"

#define DECODE_SCHEMAS 256
#define DECODE_SCHEMA_BYTES (4u << 20) /* of one schema, encoded */
#define DECODE_BYTES (64u << 20)       /* of all schemas, as kept */

struct tacho_decoder;

/* Batches will come from `pool` (borrowed for the decoder's life), under the origin that the bytes
 * name. NULL without memory. */
struct tacho_decoder *decoder_new(struct batch_pool *pool);
void decoder_free(struct tacho_decoder *decoder);

/* Remembers a schema (copied), so that batches which name it can be read. */
int decode_schema(struct tacho_decoder *decoder, const void *data, size_t length,
                  struct tacho_err *err);

/* TACHO_OK and an open batch; TACHO_NO_DATA when its schema is not known; TACHO_RETRY on bad bytes.
 */
int decode_batch(struct tacho_decoder *decoder, const void *data, size_t length,
                 struct tacho_batch **out, struct tacho_err *err);

#endif
