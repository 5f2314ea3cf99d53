/* SPDX-License-Identifier: MIT */
/* The shared main of unit tests; see harness.h. CU_basic_run_tests returns 0 although an assertion
 * failed, hence the count of failures decides. */
#include "tests/harness.h"

#include <CUnit/Basic.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char tmpdir[64];
static unsigned skipped;

/* Paths live until the program ends, in a list so that a leak checker sees them. */
static const char *join(const char *base, const char *path)
{
    static struct kept {
        struct kept *next;
        char text[];
    } * all;
    size_t size = strlen(base) + strlen(path) + 2;
    struct kept *kept = malloc(sizeof *kept + size);
    if (!kept) {
        return NULL;
    }
    snprintf(kept->text, size, "%s/%s", base, path);
    kept->next = all;
    all = kept;
    return kept->text;
}

const char *harness_source(const char *path)
{
    const char *base = getenv("TACHO_SRCDIR");
    return join(base ? base : ".", path);
}

const char *harness_fixture(const char *path)
{
    const char *base = getenv("TACHO_FIXTURES");
    const char *whole = join(base ? base : "../shared/fixtures", path);
    return whole && access(whole, R_OK) == 0 ? whole : NULL;
}

void harness_skip(const char *why)
{
    printf("    skipped: %s\n", why);
    skipped++;
    CU_PASS("skipped");
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_tmpdir(void)
{
    nftw(tmpdir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *harness_tmpdir(void)
{
    if (!tmpdir[0]) {
        snprintf(tmpdir, sizeof tmpdir, "/tmp/tacho-test-XXXXXX");
        if (!mkdtemp(tmpdir)) {
            perror(tmpdir);
            exit(1);
        }
        atexit(remove_tmpdir);
    }
    return tmpdir;
}

static int wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return 1;
        }
    }
    return argc < 2;
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (CU_initialize_registry() != CUE_SUCCESS) {
        return 1;
    }
    CU_pSuite suite = CU_add_suite(name, NULL, NULL);
    for (const struct test *test = tests; suite && test->name; test++) {
        if (wanted(test->name, argc, argv) && !CU_add_test(suite, test->name, test->run)) {
            return 1;
        }
    }
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_tests_failed();
    unsigned passed = CU_get_number_of_tests_run() - failed;
    CU_basic_show_failures(CU_get_failure_list());
    printf("\n%s: %u passed, %u failed, %u skipped\n", name, passed - skipped, failed, skipped);
    unsigned assertions = CU_get_number_of_failures();
    CU_cleanup_registry();
    return assertions == 0 && failed == 0 && passed > 0 ? 0 : 1;
}
