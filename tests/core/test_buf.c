/* SPDX-License-Identifier: MIT */
/* The buffer: growth, its limit, and that a failure stays until a reset. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "tests/harness.h"

static void test_append(void)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    buf_put(&buf, NULL, 0);
    CU_ASSERT_FALSE(buf.failed);
    buf_puts(&buf, "one");
    buf_putc(&buf, ' ');
    buf_printf(&buf, "%d %s", 2, "three");
    for (int i = 0; i < 1000; i++) {
        buf_put(&buf, "0123456789", 10);
    }
    CU_ASSERT_EQUAL(buf.length, 11 + 10000);
    CU_ASSERT_EQUAL(memcmp(buf.data, "one 2 three0123456789", 21), 0);
    char *text = buf_take(&buf);
    CU_ASSERT_EQUAL(strlen(text), 10011);
    CU_ASSERT_PTR_NULL(buf.data);
    CU_ASSERT_EQUAL(buf.limit, 1u << 20);
    free(text);
}

static void test_reset_keeps_memory(void)
{
    struct buf buf;
    buf_init(&buf, 1u << 20);
    buf_puts(&buf, "text");
    char *data = buf.data;
    buf_reset(&buf);
    buf_puts(&buf, "other");
    CU_ASSERT_PTR_EQUAL(buf.data, data);
    CU_ASSERT_EQUAL(buf.length, 5);
    buf_fini(&buf);
}

static void test_limit(void)
{
    struct buf buf;
    buf_init(&buf, 10);
    buf_puts(&buf, "0123456789");
    CU_ASSERT_FALSE(buf.failed);
    buf_putc(&buf, 'x');
    CU_ASSERT_TRUE(buf.failed);
    buf_reset(&buf);
    buf_puts(&buf, "01234");
    buf_puts(&buf, "0123456");
    CU_ASSERT_TRUE(buf.failed);
    buf_puts(&buf, "0"); /* Would fit, but comes after a gap. */
    CU_ASSERT_EQUAL(buf.length, 5);
    buf_printf(&buf, "%s", "x");
    CU_ASSERT_EQUAL(buf.length, 5);
    CU_ASSERT_PTR_NULL(buf_take(&buf));
    CU_ASSERT_FALSE(buf.failed);
    CU_ASSERT_FALSE(buf_reserve(&buf, SIZE_MAX));
    buf_fini(&buf);
}

/* Sanitizers would rather stop than return NULL for more memory than there is. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static void test_huge_limit_does_not_wrap(void)
{
    struct buf buf;
    buf_init(&buf, SIZE_MAX);
    CU_ASSERT_FALSE(buf_reserve(&buf, SIZE_MAX - 4096));
    CU_ASSERT_TRUE(buf.failed);
    buf_reset(&buf);
    buf_puts(&buf, "still good");
    CU_ASSERT_FALSE(buf.failed);
    buf_fini(&buf);
}

const struct test tests[] = {
    {"append", test_append},
    {"reset_keeps_memory", test_reset_keeps_memory},
    {"limit", test_limit},
    {"huge_limit_does_not_wrap", test_huge_limit_does_not_wrap},
    {NULL, NULL},
};
