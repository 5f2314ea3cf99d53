/* SPDX-License-Identifier: MIT */
/*
 * The main that all unit tests share. A test program defines one table:
 *
 *     const struct test tests[] = {{"name", function}, {NULL, NULL}};
 *
 * Run without arguments it runs all, with names it runs those. It ends with the line
 * "NAME: N passed, N failed" and fails when an assertion failed or no test ran.
 */
#ifndef TACHO_TESTS_HARNESS_H
#define TACHO_TESTS_HARNESS_H

#include <CUnit/CUnit.h>

struct test {
    const char *name;
    void (*run)(void);
};

extern const struct test tests[];

/* Path below the source tree, or below the fixtures folder (NULL when that is not there: the test
 * then says so with harness_skip and returns). Kept until the program ends. */
const char *harness_source(const char *path);
const char *harness_fixture(const char *path);
void harness_skip(const char *why);

/* A fresh folder, removed with all it holds when the program ends. */
const char *harness_tmpdir(void);

#endif
