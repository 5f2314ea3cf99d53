/* SPDX-License-Identifier: MIT */
/*
 * The cache of encoded batches; see encode.h. The formats themselves are in encode_json.c,
 * encode_msgpack.c and encode_openmetrics.c.
 */
#include "core/encode.h"

static void (*const encoders[BATCH_FORMATS])(const struct tacho_batch *, struct buf *) = {
    [TACHO_JSON] = encode_json,
    [TACHO_MSGPACK] = encode_msgpack,
    [TACHO_SCHEMA] = encode_schema,
    [TACHO_OPENMETRICS] = encode_openmetrics,
};

int encode_batch(const struct tacho_batch *batch, int format, const void **out_data,
                 size_t *out_length)
{
    if (format <= 0 || format >= BATCH_FORMATS || !batch->sealed) {
        return TACHO_UNSUPPORTED;
    }
    /* Constant to all who read it; the cache is the one thing that still changes, under its lock.
     */
    struct tacho_batch *mutable = (struct tacho_batch *)batch;
    struct buf *encoded = &mutable->encoded[format];
    int result = TACHO_OK;
    pthread_mutex_lock(&mutable->encode_lock);
    if (encoded->length == 0) {
        encoders[format](batch, encoded);
    }
    if (encoded->failed) {
        buf_reset(encoded);
        result = TACHO_RETRY;
    }
    *out_data = encoded->length ? encoded->data : "";
    *out_length = encoded->length;
    pthread_mutex_unlock(&mutable->encode_lock);
    return result;
}
