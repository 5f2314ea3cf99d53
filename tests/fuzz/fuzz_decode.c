/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the MessagePack decoder: a schema, then a batch. The first two bytes of the input say how
 * long the schema is. What is accepted must seal, encode, and decode again to the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decode.h"
#include "core/encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tacho_batch *decode(struct tacho_decoder *decoder, const void *data, size_t length)
{
    struct tacho_err err = {0};
    struct tacho_batch *batch = NULL;
    int result = decode_batch(decoder, data, length, &batch, &err);
    if ((result == TACHO_OK) != (batch != NULL) || (result != TACHO_OK && !err.text[0])) {
        abort();
    }
    if (batch) {
        batch_seal(batch, 1);
    }
    return batch;
}

static void encode(const struct tacho_batch *batch, int format, const void **data, size_t *length)
{
    if (encode_batch(batch, format, data, length) != TACHO_OK) {
        abort();
    }
}

/* What was accepted once is accepted again, and stays the same from then on. */
static void check_stable(struct tacho_decoder *decoder, const struct tacho_batch *batch)
{
    const void *schema, *rows, *again, *text;
    size_t schema_length, rows_length, again_length, text_length;
    encode(batch, TACHO_JSON, &text, &text_length);
    encode(batch, TACHO_OPENMETRICS, &text, &text_length);
    encode(batch, TACHO_SCHEMA, &schema, &schema_length);
    encode(batch, TACHO_MSGPACK, &rows, &rows_length);
    if (decode_schema(decoder, schema, schema_length, NULL) != TACHO_OK) {
        abort();
    }
    struct tacho_batch *second = decode(decoder, rows, rows_length);
    if (!second) {
        abort();
    }
    encode(second, TACHO_MSGPACK, &again, &again_length);
    if (second->schema != batch->schema || again_length != rows_length ||
        memcmp(again, rows, rows_length) != 0) {
        abort();
    }
    batch_unref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    size_t schema = (size_t)data[0] << 8 | data[1];
    size_t left = size - 2;
    schema = schema < left ? schema : left;
    struct batch_pool *pool = batch_pool_new("lab", "fuzz", "fuzz", 1, NULL);
    struct tacho_decoder *decoder = decoder_new(pool);
    decode_schema(decoder, data + 2, schema, NULL);
    struct tacho_batch *batch = decode(decoder, data + 2 + schema, left - schema);
    if (batch) {
        check_stable(decoder, batch);
        batch_unref(batch);
    }
    decoder_free(decoder);
    batch_pool_free(pool);
    return 0;
}
