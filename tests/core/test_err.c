/* SPDX-License-Identifier: MIT */
/* Errors: one code, one sentence, the cause before its consequences. */
#include <errno.h>
#include <string.h>

#include "core/err.h"
#include "tests/harness.h"

static void test_first_text_wins(void)
{
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(tacho_fail(&err, TACHO_RETRY, "cause %d", 1), TACHO_RETRY);
    CU_ASSERT_EQUAL(tacho_fail(&err, TACHO_FATAL, "consequence"), TACHO_FATAL);
    CU_ASSERT_STRING_EQUAL(err.text, "cause 1");
    CU_ASSERT_EQUAL(err.code, TACHO_RETRY);
    errno = ENOENT;
    CU_ASSERT_EQUAL(err_sys(&err, TACHO_CONFIG, "other"), TACHO_CONFIG);
    CU_ASSERT_STRING_EQUAL(err.text, "cause 1");
    err_clear(&err);
    CU_ASSERT_EQUAL(err.code, TACHO_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

static void test_no_place_for_an_error(void)
{
    CU_ASSERT_EQUAL(tacho_fail(NULL, TACHO_RETRY, "x"), TACHO_RETRY);
    CU_ASSERT_EQUAL(err_sys(NULL, TACHO_RETRY, "x"), TACHO_RETRY);
    err_prefix(NULL, "x");
}

static void test_sys_names_errno_and_keeps_it(void)
{
    struct tacho_err err = {0};
    errno = EACCES;
    err_sys(&err, TACHO_RETRY, "opening %s", "/x");
    CU_ASSERT_STRING_EQUAL(err.text, "opening /x: Permission denied");
    CU_ASSERT_EQUAL(errno, EACCES);
}

static void test_prefix(void)
{
    struct tacho_err err = {0};
    tacho_fail(&err, TACHO_RETRY, "no such file");
    err_prefix(&err, "opening %s: ", "the log");
    CU_ASSERT_STRING_EQUAL(err.text, "opening the log: no such file");
    CU_ASSERT_EQUAL(err.code, TACHO_RETRY);
}

static void test_long_texts_are_cut(void)
{
    struct tacho_err err = {0};
    char text[2 * TACHO_ERR_TEXT];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    tacho_fail(&err, TACHO_RETRY, "%s", text);
    CU_ASSERT_EQUAL(strlen(err.text), TACHO_ERR_TEXT - 1);
    err_prefix(&err, "before: ");
    CU_ASSERT_EQUAL(strlen(err.text), TACHO_ERR_TEXT - 1);
    CU_ASSERT_EQUAL(strncmp(err.text, "before: xx", 10), 0);
    err_prefix(&err, "%s", text);
    CU_ASSERT_EQUAL(strlen(err.text), TACHO_ERR_TEXT - 1);
    struct tacho_err sys = {0};
    text[TACHO_ERR_TEXT - 3] = '\0';
    err_sys(&sys, TACHO_RETRY, "%s", text);
    CU_ASSERT_EQUAL(strlen(sys.text), TACHO_ERR_TEXT - 1);
}

static void test_names(void)
{
    CU_ASSERT_STRING_EQUAL(err_result_name(TACHO_OK), "ok");
    CU_ASSERT_STRING_EQUAL(err_result_name(TACHO_DEVICE_LOST), "device_lost");
    CU_ASSERT_STRING_EQUAL(err_result_name(TACHO_FATAL), "fatal");
    CU_ASSERT_STRING_EQUAL(err_result_name(-1), "unknown");
    CU_ASSERT_STRING_EQUAL(err_result_name(99), "unknown");
}

const struct test tests[] = {
    {"first_text_wins", test_first_text_wins},
    {"no_place_for_an_error", test_no_place_for_an_error},
    {"sys_names_errno_and_keeps_it", test_sys_names_errno_and_keeps_it},
    {"prefix", test_prefix},
    {"long_texts_are_cut", test_long_texts_are_cut},
    {"names", test_names},
    {NULL, NULL},
};
