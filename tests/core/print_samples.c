/* SPDX-License-Identifier: MIT */
/*
 * Prints the batches of sample_batch.h in a format: for `make golden`, and for checks by programs
 * of others. Usage: print_samples json|msgpack|schema|openmetrics|random [SEED]
 *
 * random: one OpenMetrics page of many random batches, and the fixed one as from another source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "tests/core/sample_batch.h"

enum { BATCHES = 40 };

static void print_random(struct batch_pool *pool, uint64_t seed, struct buf *out)
{
    const struct tacho_batch *batches[BATCHES];
    for (unsigned i = 0; i < BATCHES; i++) {
        struct tacho_batch *batch = sample_random(pool, seed * BATCHES + i);
        batch_seal(batch, i);
        batches[i] = batch;
    }
    encode_openmetrics_page(batches, BATCHES, out);
    for (unsigned i = 0; i < BATCHES; i++) {
        batch_unref(batches[i]);
    }
}

static int print(struct batch_pool *pool, const char *format, uint64_t seed, struct buf *out)
{
    static const char *const names[] = {"", "json", "msgpack", "schema"};
    struct tacho_batch *batch = sample_fixed(pool);
    const struct tacho_batch *pages[] = {batch};
    const void *data;
    size_t length;
    int result = -1;
    for (int i = 1; i < 4; i++) {
        if (strcmp(format, names[i]) == 0) {
            result = encode_batch(batch, i, &data, &length);
            buf_put(out, data, length);
            buf_puts(out, i == TACHO_JSON ? "\n" : "");
        }
    }
    if (strcmp(format, "openmetrics") == 0) {
        encode_openmetrics_page(pages, 1, out);
        result = 0;
    } else if (strcmp(format, "random") == 0) {
        print_random(pool, seed, out);
        result = 0;
    }
    batch_unref(batch);
    return result == TACHO_OK && !out->failed ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct batch_pool *pool = batch_pool_new("lab", "node-1", "test", 1, NULL);
    struct buf out;
    buf_init(&out, 64u << 20);
    int result = 2;
    if (argc >= 2) {
        result = print(pool, argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : 0, &out);
        if (fwrite(out.data, 1, out.length, stdout) != out.length) {
            result = 1;
        }
    }
    buf_fini(&out);
    batch_pool_free(pool);
    return result;
}
