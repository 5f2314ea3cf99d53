/* SPDX-License-Identifier: MIT */
/* UTF-8: every character there is, every way to be none, and cleaning. */
#include <stdint.h>
#include <string.h>

#include "core/utf8.h"
#include "tests/harness.h"

static size_t encode(uint32_t code, char *out)
{
    unsigned char *at = (unsigned char *)out;
    if (code < 0x80) {
        at[0] = (unsigned char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--) {
        at[i] = (unsigned char)(0x80 | (code & 0x3F));
        code >>= 6;
    }
    at[0] = (unsigned char)(leads[length] | code);
    return length;
}

static void test_every_code_point(void)
{
    for (uint32_t code = 1; code < 0x120000; code++) {
        char text[4];
        size_t length = encode(code, text);
        bool good = code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
        CU_ASSERT_EQUAL_FATAL(utf8_step(text, length), good ? length : 0);
        CU_ASSERT_EQUAL_FATAL(utf8_step(text, length - 1), 0);
    }
}

static void test_ill_formed(void)
{
    static const char *const texts[] = {
        "\x80",         "\xC0\x80",         "\xC1\xBF",         "\xE0\x80\x80",
        "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
        "\xFF",         "\xE2\x28\xA1",     "12345678\xFF"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CU_ASSERT_FALSE(utf8_ok(texts[i], strlen(texts[i])));
    }
    CU_ASSERT_TRUE(utf8_ok("", 0));
    CU_ASSERT_TRUE(utf8_ok("12345678\xE2\x82\xAC", 11));
    CU_ASSERT_FALSE(utf8_ok("12345678\xE2\x82\xAC", 10));
}

static void test_clean(void)
{
    char out[32];
    CU_ASSERT_EQUAL(utf8_clean("a\xFF\xE2\x82\xAC", 5, out, sizeof out), 7);
    CU_ASSERT_STRING_EQUAL(out, "a\xEF\xBF\xBD\xE2\x82\xAC");
    CU_ASSERT_EQUAL(utf8_clean("abcd", 4, out, 4), 3);
    CU_ASSERT_STRING_EQUAL(out, "abc");
    CU_ASSERT_EQUAL(utf8_clean("ab\xE2\x82\xAC", 5, out, 5), 2); /* at a whole character */
    CU_ASSERT_STRING_EQUAL(out, "ab");
    CU_ASSERT_EQUAL(utf8_clean("abc", 3, out, 1), 0);
    CU_ASSERT_STRING_EQUAL(out, "");
}

const struct test tests[] = {
    {"every_code_point", test_every_code_point},
    {"ill_formed", test_ill_formed},
    {"clean", test_clean},
    {NULL, NULL},
};
