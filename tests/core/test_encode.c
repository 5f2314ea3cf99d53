/* SPDX-License-Identifier: MIT */
/* Encoding: sizes, numbers, texts, and the cache. What comes back is tested in test_decode. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/encode.h"
#include "tests/core/sample_batch.h"
#include "tests/harness.h"

static void test_eight_gpus_are_small(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = sample_gpus(pool);
    const void *data;
    size_t length;
    CU_ASSERT_EQUAL(batch->value_count, 8 * 24);
    CU_ASSERT_EQUAL(encode_batch(batch, TACHO_MSGPACK, &data, &length), TACHO_OK);
    CU_ASSERT(length <= 800);
    printf("    %zu bytes\n", length);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void test_made_once(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "nvml", 1, NULL);
    struct tacho_batch *batch = sample_fixed(pool);
    for (int format = TACHO_JSON; format <= TACHO_SCHEMA; format++) {
        const void *first, *second;
        size_t length, again;
        CU_ASSERT_EQUAL(encode_batch(batch, format, &first, &length), TACHO_OK);
        CU_ASSERT_EQUAL(encode_batch(batch, format, &second, &again), TACHO_OK);
        CU_ASSERT_PTR_EQUAL(first, second);
        CU_ASSERT(length > 0 && length == again);
    }
    const void *none;
    size_t length;
    CU_ASSERT_EQUAL(encode_batch(batch, 0, &none, &length), TACHO_UNSUPPORTED);
    CU_ASSERT_EQUAL(encode_batch(batch, 99, &none, &length), TACHO_UNSUPPORTED);
    batch_unref(batch);
    batch_pool_free(pool);
}

static void check_number(double number, const char *expected)
{
    struct buf out;
    buf_init(&out, 1024);
    encode_json_number(&out, number);
    char *text = buf_take(&out);
    CU_ASSERT_STRING_EQUAL(text, expected);
    free(text);
}

static void test_numbers_are_short(void)
{
    check_number(0, "0");
    check_number(-0.0, "-0");
    check_number(1, "1");
    check_number(-17, "-17");
    check_number(0.1, "0.1");
    check_number(-0.05, "-0.05");
    check_number(287.431, "287.431");
    check_number(100.00000001, "100.00000001");
    check_number(1.0 / 3, "0.3333333333333333");
    check_number(0x1p53, "9007199254740992");
    check_number(1e300, "1e+300");
    check_number(5e-324, "4.94065645841247e-324");
    check_number(123456789.012, "123456789.012");
}

static void test_numbers_read_back(void)
{
    struct buf out;
    uint64_t state = 88172645463325252u;
    buf_init(&out, 1024);
    for (int i = 0; i < 200000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double number;
        memcpy(&number, &state, sizeof number);
        if (i % 2) {
            number = (double)(int64_t)(state % 20000000) / (double)(1 + state % 1000);
        }
        if (isfinite(number)) {
            buf_reset(&out);
            encode_json_number(&out, number);
            buf_putc(&out, '\0');
            CU_ASSERT_EQUAL_FATAL(strtod(out.data, NULL), number);
        }
    }
    buf_fini(&out);
}

/* The number of significant digits, without zeros at the end. */
static unsigned digits_of(const char *text)
{
    unsigned count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text >= '1' && *text <= '9') {
            count += zeros + 1;
            zeros = 0;
        } else if (*text == '0' && count > 0) {
            zeros++;
        }
    }
    return count;
}

static void test_no_shorter_number_reads_back(void)
{
    struct buf out;
    uint64_t state = 88172645463325252u;
    buf_init(&out, 1024);
    for (int i = 0; i < 100000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        double number = ldexp((double)(state >> 11), -(int)(state % 75));
        buf_reset(&out);
        encode_json_number(&out, number);
        buf_putc(&out, '\0');
        for (unsigned precision = 15; precision < digits_of(out.data); precision++) {
            char shorter[40];
            snprintf(shorter, sizeof shorter, "%.*g", (int)precision, number);
            CU_ASSERT_NOT_EQUAL_FATAL(strtod(shorter, NULL), number);
        }
        CU_ASSERT_EQUAL_FATAL(strtod(out.data, NULL), number);
    }
    buf_fini(&out);
}

static void check_text(const char *text, const char *expected)
{
    struct buf out;
    buf_init(&out, 1024);
    encode_json_text(&out, text);
    char *encoded = buf_take(&out);
    CU_ASSERT_STRING_EQUAL(encoded, expected);
    free(encoded);
}

static void test_texts_are_escaped(void)
{
    check_text("", "\"\"");
    check_text("plain \xC3\xBC", "\"plain \xC3\xBC\"");
    check_text("\"\\\n\r\t\x01\x7F", "\"\\\"\\\\\\n\\r\\t\\u0001\\u007f\"");
    check_text("a\xFFz", "\"a\xEF\xBF\xBDz\"");
    check_text("\xC0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    check_text("\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    check_text("\xF4\x90\x80\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    check_text("cut \xE2\x82", "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

static void test_random_json_parses(void)
{
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct tacho_batch *batch = sample_random(pool, seed);
        const void *data;
        size_t length;
        json_error_t problem;
        batch_seal(batch, 1);
        CU_ASSERT_EQUAL(encode_batch(batch, TACHO_JSON, &data, &length), TACHO_OK);
        CU_ASSERT_PTR_NULL(memchr(data, '\n', length));
        json_t *root = json_loadb(data, length, JSON_REJECT_DUPLICATES, &problem);
        CU_ASSERT_PTR_NOT_NULL_FATAL(root);
        CU_ASSERT_EQUAL(json_array_size(json_object_get(root, "entities")), batch->entity_count);
        json_decref(root);
        batch_unref(batch);
    }
    batch_pool_free(pool);
}

const struct test tests[] = {
    {"eight_gpus_are_small", test_eight_gpus_are_small},
    {"made_once", test_made_once},
    {"numbers_are_short", test_numbers_are_short},
    {"numbers_read_back", test_numbers_read_back},
    {"no_shorter_number_reads_back", test_no_shorter_number_reads_back},
    {"texts_are_escaped", test_texts_are_escaped},
    {"random_json_parses", test_random_json_parses},
    {NULL, NULL},
};
