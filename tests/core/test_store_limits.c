/* SPDX-License-Identifier: MIT */
/* Logs at their limits: retention, and disks that do not take what is written; everything is there
 * or announced. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/store.h"
#include "core/store_walk.h"
#include "tests/core/store_rig.h"
#include "tests/harness.h"
#include "tests/storedata.h"

/* Every number is in the log or in a gap that it announces. */
static void assert_accounted(const char *path, uint64_t last)
{
    bool *seen = calloc(last + 1, sizeof *seen);
    struct segment *list = NULL;
    size_t count = 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_EQUAL(segment_list(folder, &list, &count, NULL), TACHO_OK);
    for (size_t i = 0; i < count; i++) {
        struct walk walk;
        struct frame frame;
        struct segment_gap gap;
        int fd = openat(folder, list[i].name, O_RDONLY);
        walk_init(&walk, fd);
        while (walk_next(&walk, &frame, NULL) == TACHO_OK) {
            if (frame.kind == FRAME_BATCH && frame.seq <= last) {
                seen[frame.seq] = true;
            } else if (frame.kind == FRAME_GAP && segment_read_gap(&frame, &gap) == TACHO_OK) {
                for (uint64_t n = gap.first_seq; n <= gap.last_seq && n <= last; n++) {
                    seen[n] = true;
                }
            }
        }
        walk_fini(&walk);
        close(fd);
    }
    uint64_t unaccounted = 0;
    for (uint64_t n = 1; n <= last; n++) {
        unaccounted += !seen[n];
    }
    CU_ASSERT_EQUAL(unaccounted, 0);
    close(folder);
    free(list);
    free(seen);
}

static uint64_t folder_bytes(const char *path)
{
    uint64_t bytes = 0;
    struct segment *list = NULL;
    size_t count = 0;
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    segment_list(folder, &list, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        bytes += list[i].bytes;
    }
    close(folder);
    free(list);
    return bytes;
}

static void test_max_bytes(void)
{
    const char *path = rig_folder();
    struct tacho_store *store =
        rig_open(path, (struct tacho_store_options){.max_bytes = 100000, .segment_bytes = 10000});
    for (uint64_t i = 1; i <= 2000; i++) {
        rig_append(store, i, i, 2);
        if (i % 100 == 0) {
            CU_ASSERT(folder_bytes(path) <= 100000);
        }
    }
    struct tacho_store_stats stats = rig_stats(store);
    CU_ASSERT(stats.dropped_segments > 5);
    CU_ASSERT_EQUAL(stats.bytes <= 100000, 1);
    store_close(store);
    uint64_t first, last;
    uint64_t count = rig_read(path, &first, &last, NULL);
    CU_ASSERT_EQUAL(last, 2000);
    CU_ASSERT_EQUAL(count, last - first + 1);
    /* Gaps that were announced in segments since dropped are gone with them. */
    struct cursor_stats seen;
    rig_read(path, NULL, NULL, &seen);
    CU_ASSERT_EQUAL(seen.missing, 0);
}

static void test_max_age(void)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){.segment_bytes = 4096});
    rig_append(store, 1, 100, 2);
    store_close(store);
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char *oldest = strdup(rig_segment(path, 0));
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, oldest, old, 0), 0);
    store = rig_open(path, (struct tacho_store_options){.max_age_ns = 3600 * NS_PER_S});
    CU_ASSERT_NOT_EQUAL(access(oldest, F_OK), 0);
    rig_append(store, 101, 101, 2);
    store_close(store);
    assert_accounted(path, 101);
    uint64_t first;
    rig_read(path, &first, NULL, NULL);
    CU_ASSERT(first > 1);
    free(oldest);
}

static void test_gap_alone_is_kept(void)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){.segment_bytes = 4096});
    rig_append(store, 1, 100, 2);
    store_close(store);
    store = rig_open(path, (struct tacho_store_options){.max_bytes = 16384});
    CU_ASSERT(rig_stats(store).dropped_segments > 0);
    store_close(store);
    assert_accounted(path, 100);
    store = rig_open(path, (struct tacho_store_options){0});
    rig_append(store, 101, 110, 2);
    store_close(store);
    assert_accounted(path, 110);
}

static void test_failing_disk(void)
{
    const char *path = rig_folder();
    struct rlimit before, low;
    signal(SIGXFSZ, SIG_IGN);
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){0});
    rig_append(store, 1, 100, 2);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    low = before;
    low.rlim_cur = 100; /* not even a header fits */
    setrlimit(RLIMIT_FSIZE, &low);
    rig_append(store, 101, 4000, 2);
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(store_flush(store, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
    struct tacho_store_stats stats = rig_stats(store);
    CU_ASSERT_EQUAL(stats.degraded, 1);
    CU_ASSERT(stats.io_errors > 0);
    CU_ASSERT(stats.dropped_frames > 2000);
    setrlimit(RLIMIT_FSIZE, &before);
    clock_sleep_until(clock_mono_ns() + 1100 * NS_PER_MS);
    rig_append(store, 4001, 4010, 2);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    stats = rig_stats(store);
    CU_ASSERT_EQUAL(stats.degraded, 0);
    store_close(store);
    assert_accounted(path, 4010);
    uint64_t last;
    struct cursor_stats seen;
    uint64_t count = rig_read(path, NULL, &last, &seen);
    CU_ASSERT_EQUAL(last, 4010);
    CU_ASSERT_EQUAL(count + stats.dropped_frames, 4010);
    CU_ASSERT_EQUAL(seen.announced, stats.dropped_frames);
    CU_ASSERT_EQUAL(seen.missing + seen.damaged_bytes, 0);
}

static void test_small_file_limit(void)
{
    /* Each write beyond 20000 bytes fails: segments are cut back and new ones begun. */
    const char *path = rig_folder();
    struct rlimit before, low;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    low = before;
    low.rlim_cur = 20000;
    setrlimit(RLIMIT_FSIZE, &low);
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){0});
    rig_append(store, 1, 1000, 2);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    setrlimit(RLIMIT_FSIZE, &before);
    store_close(store);
    struct cursor_stats seen;
    CU_ASSERT_EQUAL(rig_read(path, NULL, NULL, &seen), 1000);
    CU_ASSERT(seen.segments > 5);
    CU_ASSERT_EQUAL(seen.missing + seen.damaged_bytes, 0);
}

const struct test tests[] = {
    {"max_bytes", test_max_bytes},
    {"max_age", test_max_age},
    {"gap_alone_is_kept", test_gap_alone_is_kept},
    {"failing_disk", test_failing_disk},
    {"small_file_limit", test_small_file_limit},
    {NULL, NULL},
};
