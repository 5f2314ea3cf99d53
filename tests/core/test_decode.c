/* SPDX-License-Identifier: MIT */
/*
 * Decoding: what was encoded comes back the same, and bytes that were cut or changed give an error
 * with a sentence or a well-formed batch, never anything else. TACHO_ROUNDS sets the number of
 * random batches (300).
 */
#include <stdlib.h>
#include <string.h>

#include "core/decode.h"
#include "core/encode.h"
#include "core/metric.h"
#include "tests/core/sample_batch.h"
#include "tests/harness.h"

struct setup {
    struct batch_pool *pool;
    struct tacho_decoder *decoder;
};

static void setup_init(struct setup *setup)
{
    setup->pool = batch_pool_new("there", "receiver", "fleet", 1, NULL);
    setup->decoder = decoder_new(setup->pool);
}

static void setup_fini(struct setup *setup)
{
    decoder_free(setup->decoder);
    batch_pool_free(setup->pool);
}

/* The bytes of a batch in a format, as a copy of exactly their size, so that ASan sees every read
 * beyond the end. */
struct bytes {
    uint8_t *data;
    size_t length;
};

static struct bytes bytes_of(const struct tacho_batch *batch, int format)
{
    const void *data;
    struct bytes copy = {NULL, 0};
    CU_ASSERT_EQUAL_FATAL(encode_batch(batch, format, &data, &copy.length), TACHO_OK);
    copy.data = malloc(copy.length);
    memcpy(copy.data, data, copy.length);
    return copy;
}

static void check_same(const struct tacho_batch *one, const struct tacho_batch *other, int format)
{
    struct bytes a = bytes_of(one, format), b = bytes_of(other, format);
    CU_ASSERT_EQUAL(a.length, b.length);
    CU_ASSERT(a.length == b.length && memcmp(a.data, b.data, a.length) == 0);
    free(a.data);
    free(b.data);
}

static bool same_value(const struct tacho_value *a, const struct tacho_value *b)
{
    if (a->type != b->type || a->metric != b->metric) {
        return false;
    }
    switch (a->type) {
    case TACHO_VALUE_ABSENT: return a->reason == b->reason;
    case TACHO_VALUE_TEXT: return strcmp(a->as.text, b->as.text) == 0;
    case TACHO_VALUE_SUMMARY: return a->as.summary->count == b->as.summary->count;
    default: return a->as.flags == b->as.flags; /* Bit by bit: -0.0 is not 0.0. */
    }
}

static void check_values(const struct tacho_batch *one, const struct tacho_batch *other)
{
    CU_ASSERT_EQUAL_FATAL(one->entity_count, other->entity_count);
    for (uint32_t i = 0; i < one->entity_count; i++) {
        const struct tacho_entity *a = &one->entities[i], *b = &other->entities[i];
        CU_ASSERT_EQUAL_FATAL(a->value_count, b->value_count);
        CU_ASSERT_EQUAL(a->parent, b->parent);
        CU_ASSERT_EQUAL(a->flags, b->flags);
        for (uint32_t j = 0; j < a->value_count; j++) {
            CU_ASSERT(same_value(&a->values[j], &b->values[j]));
        }
    }
}

/* Encodes, decodes, seals and compares. */
static void check_round_trip(struct setup *setup, const struct tacho_batch *batch)
{
    struct tacho_err err = {0};
    struct tacho_batch *back = NULL;
    struct bytes schema = bytes_of(batch, TACHO_SCHEMA), rows = bytes_of(batch, TACHO_MSGPACK);
    CU_ASSERT_EQUAL(decode_schema(setup->decoder, schema.data, schema.length, &err), TACHO_OK);
    int result = decode_batch(setup->decoder, rows.data, rows.length, &back, &err);
    CU_ASSERT_EQUAL(result, TACHO_OK);
    if (result == TACHO_OK) {
        batch_seal(back, 1);
        CU_ASSERT_EQUAL(back->schema, batch->schema);
        CU_ASSERT_EQUAL(back->seq, batch->seq);
        CU_ASSERT_EQUAL(back->flags, batch->flags);
        check_values(batch, back);
        check_same(batch, back, TACHO_SCHEMA);
        check_same(batch, back, TACHO_MSGPACK);
        check_same(batch, back, TACHO_JSON);
        batch_unref(back);
    } else {
        printf("    %s\n", err.text);
    }
    free(schema.data);
    free(rows.data);
}

static void test_fixed_round_trip(void)
{
    struct setup setup;
    setup_init(&setup);
    struct tacho_batch *batch = sample_fixed(setup.pool);
    check_round_trip(&setup, batch);
    batch_unref(batch);
    batch = sample_gpus(setup.pool);
    check_round_trip(&setup, batch);
    batch_unref(batch);
    setup_fini(&setup);
}

static unsigned rounds(unsigned preset)
{
    const char *text = getenv("TACHO_ROUNDS");
    return text ? (unsigned)strtoul(text, NULL, 10) : preset;
}

static void test_random_round_trips(void)
{
    struct setup setup;
    setup_init(&setup);
    for (uint64_t seed = 0; seed < rounds(300); seed++) {
        struct tacho_batch *batch = sample_random(setup.pool, seed);
        batch_seal(batch, 1);
        unsigned before = CU_get_number_of_failures();
        check_round_trip(&setup, batch);
        batch_unref(batch);
        if (CU_get_number_of_failures() != before) {
            printf("    seed %llu\n", (unsigned long long)seed);
            break;
        }
    }
    setup_fini(&setup);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Decodes bytes that may be bad; what comes out must be a batch that can be sealed and encoded. */
static int try_batch(struct setup *setup, const uint8_t *data, size_t length)
{
    struct tacho_err err = {0};
    struct tacho_batch *batch = NULL;
    int result = decode_batch(setup->decoder, data, length, &batch, &err);
    if (result == TACHO_OK) {
        const void *bytes;
        size_t size;
        batch_seal(batch, 1);
        CU_ASSERT_EQUAL(encode_batch(batch, TACHO_JSON, &bytes, &size), TACHO_OK);
        CU_ASSERT_EQUAL(encode_batch(batch, TACHO_MSGPACK, &bytes, &size), TACHO_OK);
        batch_unref(batch);
    } else {
        CU_ASSERT(result == TACHO_NO_DATA || result == TACHO_RETRY);
        CU_ASSERT(err.text[0] != '\0');
    }
    return result;
}

static int try_schema(struct setup *setup, const uint8_t *data, size_t length)
{
    struct tacho_err err = {0};
    int result = decode_schema(setup->decoder, data, length, &err);
    CU_ASSERT(result == TACHO_OK || (result == TACHO_RETRY && err.text[0]));
    return result;
}

static void test_cut_at_every_byte(void)
{
    struct setup setup;
    setup_init(&setup);
    struct tacho_batch *batch = sample_fixed(setup.pool);
    struct bytes schema = bytes_of(batch, TACHO_SCHEMA), rows = bytes_of(batch, TACHO_MSGPACK);
    for (size_t cut = 0; cut < schema.length; cut++) {
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, schema.data, cut);
        CU_ASSERT_EQUAL(try_schema(&setup, part, cut), TACHO_RETRY);
        free(part);
    }
    CU_ASSERT_EQUAL(try_schema(&setup, schema.data, schema.length), TACHO_OK);
    for (size_t cut = 0; cut < rows.length; cut++) {
        uint8_t *part = malloc(cut ? cut : 1);
        memcpy(part, rows.data, cut);
        CU_ASSERT_EQUAL(try_batch(&setup, part, cut), TACHO_RETRY);
        free(part);
    }
    CU_ASSERT_EQUAL(try_batch(&setup, rows.data, rows.length), TACHO_OK);
    free(schema.data);
    free(rows.data);
    batch_unref(batch);
    setup_fini(&setup);
}

/* Every other byte in every place of the rows, every other bit in every place of the schema. */
static void test_every_byte_changed(void)
{
    struct setup setup;
    setup_init(&setup);
    struct tacho_batch *batch = sample_fixed(setup.pool);
    struct bytes schema = bytes_of(batch, TACHO_SCHEMA), rows = bytes_of(batch, TACHO_MSGPACK);
    try_schema(&setup, schema.data, schema.length);
    for (size_t at = 0; at < rows.length; at++) {
        for (unsigned change = 1; change < 256; change++) {
            rows.data[at] ^= (uint8_t)change;
            try_batch(&setup, rows.data, rows.length);
            rows.data[at] ^= (uint8_t)change;
        }
    }
    for (size_t at = 0; at < schema.length * 8; at++) {
        schema.data[at / 8] ^= (uint8_t)(1u << at % 8);
        try_schema(&setup, schema.data, schema.length);
        try_batch(&setup, rows.data, rows.length);
        schema.data[at / 8] ^= (uint8_t)(1u << at % 8);
    }
    CU_ASSERT_EQUAL(try_schema(&setup, schema.data, schema.length), TACHO_OK);
    CU_ASSERT_EQUAL(try_batch(&setup, rows.data, rows.length), TACHO_OK);
    free(schema.data);
    free(rows.data);
    batch_unref(batch);
    setup_fini(&setup);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_unknown_schema_is_no_data(void)
{
    struct setup setup;
    setup_init(&setup);
    struct tacho_batch *batch = sample_fixed(setup.pool);
    struct bytes rows = bytes_of(batch, TACHO_MSGPACK);
    CU_ASSERT_EQUAL(try_batch(&setup, rows.data, rows.length), TACHO_NO_DATA);
    free(rows.data);
    batch_unref(batch);
    setup_fini(&setup);
}

static struct tacho_batch *numbered(struct batch_pool *pool, unsigned number)
{
    char host[16];
    struct tacho_batch *batch = batch_new(pool);
    snprintf(host, sizeof host, "node-%u", number);
    batch_origin(batch, "lab", host, "proc", 1, 1);
    batch_entity(batch, "host", host, -1, 0);
    batch_f64(batch, sample_metric("gpu.power"), 1);
    batch_seal(batch, 1);
    return batch;
}

static void test_oldest_schema_goes_first(void)
{
    struct setup setup;
    setup_init(&setup);
    struct tacho_batch *first = numbered(setup.pool, 0), *second = numbered(setup.pool, 1);
    struct bytes first_rows = bytes_of(first, TACHO_MSGPACK),
                 second_rows = bytes_of(second, TACHO_MSGPACK);
    for (unsigned i = 0; i <= DECODE_SCHEMAS; i++) {
        struct tacho_batch *batch = numbered(setup.pool, i);
        struct bytes schema = bytes_of(batch, TACHO_SCHEMA);
        CU_ASSERT_EQUAL(try_schema(&setup, schema.data, schema.length), TACHO_OK);
        CU_ASSERT_EQUAL(try_batch(&setup, first_rows.data, first_rows.length), TACHO_OK);
        free(schema.data);
        batch_unref(batch);
    }
    CU_ASSERT_EQUAL(try_batch(&setup, second_rows.data, second_rows.length), TACHO_NO_DATA);
    free(first_rows.data);
    free(second_rows.data);
    batch_unref(first);
    batch_unref(second);
    setup_fini(&setup);
}

static void test_metrics_must_agree(void)
{
    static const char bytes[] = "\x88\xA6"
                                "format\x01\xA2id\x07\xA5"
                                "fleet\xA0\xA4host\xA0\xA6source\xA0\xA7metrics\x91\x95\xA9"
                                "gpu.power\xA7"
                                "percent\xA5gauge\xC0\xA0\xA8"
                                "entities\x90\xA6shapes\x90";
    struct setup setup;
    struct tacho_err err = {0};
    setup_init(&setup);
    CU_ASSERT_EQUAL(decode_schema(setup.decoder, bytes, sizeof bytes - 1, &err), TACHO_RETRY);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "metric gpu.power is a gauge in \"watts\", not a gauge in \"percent\"");
    setup_fini(&setup);
}

static void test_deep_nesting_is_refused(void)
{
    struct setup setup;
    struct bytes deep = {malloc(1u << 20), 1u << 20};
    setup_init(&setup);
    memset(deep.data, 0x91, deep.length);
    CU_ASSERT_EQUAL(try_batch(&setup, deep.data, deep.length), TACHO_RETRY);
    memcpy(deep.data, "\x81\xA1x", 3);
    CU_ASSERT_EQUAL(try_schema(&setup, deep.data, deep.length), TACHO_RETRY);
    free(deep.data);
    setup_fini(&setup);
}

const struct test tests[] = {
    {"fixed_round_trip", test_fixed_round_trip},
    {"random_round_trips", test_random_round_trips},
    {"cut_at_every_byte", test_cut_at_every_byte},
    {"every_byte_changed", test_every_byte_changed},
    {"unknown_schema_is_no_data", test_unknown_schema_is_no_data},
    {"oldest_schema_goes_first", test_oldest_schema_goes_first},
    {"metrics_must_agree", test_metrics_must_agree},
    {"deep_nesting_is_refused", test_deep_nesting_is_refused},
    {NULL, NULL},
};
