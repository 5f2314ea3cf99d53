/* SPDX-License-Identifier: MIT */
/* The session number grows, also over a damaged file. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/session.h"
#include "tests/harness.h"

static char *path_of(const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", harness_tmpdir(), name) < 0 ? NULL : path;
}

static void test_grows_by_one(void)
{
    char *folder = path_of("state");
    uint64_t first, second;
    CU_ASSERT_EQUAL(session_next(folder, &first, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(session_next(folder, &second, NULL), TACHO_OK);
    CU_ASSERT_TRUE(first > 1000000000);
    CU_ASSERT_EQUAL(second, first + 1);
    free(folder);
}

static void test_damaged_file(void)
{
    char *folder = path_of("damaged"), *file = path_of("damaged/session");
    uint64_t first, second;
    CU_ASSERT_EQUAL(session_next(folder, &first, NULL), TACHO_OK);
    CU_ASSERT_EQUAL(truncate(file, 0), 0);
    CU_ASSERT_EQUAL(session_next(folder, &second, NULL), TACHO_OK);
    CU_ASSERT_TRUE(second >= first);
    free(folder);
    free(file);
}

static void test_without_a_folder(void)
{
    uint64_t number = 0;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(session_next("", &number, &err), TACHO_OK);
    CU_ASSERT_TRUE(number > 1000000000);
    CU_ASSERT_EQUAL(session_next("/dev/null/x", &number, &err), TACHO_RETRY);
    CU_ASSERT_STRING_EQUAL(err.text, "cannot make the folder /dev/null/x: Not a directory");
}

const struct test tests[] = {
    {"grows_by_one", test_grows_by_one},
    {"damaged_file", test_damaged_file},
    {"without_a_folder", test_without_a_folder},
    {NULL, NULL},
};
