/* SPDX-License-Identifier: MIT */
/* Logs written and read back: what is there, from when on, and who may write. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store.h"
#include "core/store_walk.h"
#include "tests/core/store_rig.h"
#include "tests/harness.h"
#include "tests/storedata.h"

static void write_and_read(int compress)
{
    const char *path = rig_folder();
    struct tacho_store *store =
        rig_open(path, (struct tacho_store_options){.compress = compress, .segment_bytes = 40000});
    rig_append(store, 1, 500, 4);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    struct cursor_stats seen;
    uint64_t first = 0, last = 0;
    CU_ASSERT_EQUAL(rig_read(path, &first, &last, &seen), 500);
    store_close(store);
    CU_ASSERT_EQUAL(rig_read(path, &first, &last, &seen), 500);
    CU_ASSERT_EQUAL(first, 1);
    CU_ASSERT_EQUAL(last, 500);
    CU_ASSERT(seen.segments > 3);
    CU_ASSERT_EQUAL(seen.damaged_bytes + seen.damaged_places + seen.missing + seen.unreadable, 0);
}

static void test_write_and_read(void)
{
    write_and_read(0);
}

static void test_write_and_read_compressed(void)
{
    write_and_read(1);
}

static void test_closed_segments(void)
{
    const char *path = rig_folder();
    struct tacho_store *store =
        rig_open(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 200000});
    rig_append(store, 1, 1000, 4);
    store_close(store);
    struct stat status;
    CU_ASSERT_EQUAL(stat(path, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0700);
    const char *file = rig_segment(path, 0);
    CU_ASSERT_EQUAL(stat(file, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0600);
    CU_ASSERT(status.st_size < 100000);

    struct segment_seal seal = {0};
    int fd = open(file, O_RDONLY);
    CU_ASSERT_EQUAL(segment_find_seal(fd, &seal), TACHO_OK);
    close(fd);
    CU_ASSERT_EQUAL(seal.first_seq, 1);
    CU_ASSERT_EQUAL(seal.last_seq, seal.frames);
    CU_ASSERT_EQUAL(seal.values, seal.frames * (2 + 4 * 12 + 3 * 2));
    CU_ASSERT_EQUAL(seal.first_ns, STOREDATA_START_NS + STOREDATA_STEP_NS);
}

static void test_number_goes_on(void)
{
    const char *path = rig_folder();
    for (uint64_t round = 0; round < 5; round++) {
        struct tacho_store *store = rig_open(path, (struct tacho_store_options){0});
        rig_append(store, round * 10 + 1, round * 10 + 10, 1);
        store_close(store);
    }
    struct cursor_stats seen;
    CU_ASSERT_EQUAL(rig_read(path, NULL, NULL, &seen), 50);
    CU_ASSERT_EQUAL(seen.missing, 0);
    CU_ASSERT_EQUAL(seen.segments, 5);
}

static void test_second_writer(void)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){0});
    struct tacho_store *second = NULL;
    struct tacho_err err = {0};
    struct tacho_store_options options = {.struct_size = sizeof options, .path = path};
    CU_ASSERT_EQUAL(store_open(&options, &rig_writer, &second, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another"));
    store_close(store);
    CU_ASSERT_EQUAL(store_open(&options, &rig_writer, &second, &err), TACHO_OK);
    store_close(second);
}

static void test_bad_folder(void)
{
    struct tacho_store *store = NULL;
    struct tacho_err err = {0};
    struct tacho_store_options options = {.struct_size = sizeof options,
                                          .path = "/proc/version/log"};
    CU_ASSERT_EQUAL(store_open(&options, &rig_writer, &store, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/proc/version"));
    err = (struct tacho_err){0};
    struct tacho_cursor *cursor = NULL;
    CU_ASSERT_EQUAL(cursor_open("/nowhere/log", rig_pool, &cursor, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/log"));
}

static void test_many_schemas(void)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){.compress = 1});
    /* More than a decoder remembers, each of them again and again. */
    for (uint64_t i = 1; i <= 900; i++) {
        rig_append(store, i, i, (uint32_t)(i % 300) / 10);
    }
    for (uint64_t i = 901; i <= 1500; i++) {
        char source[16];
        snprintf(source, sizeof source, "s%u", (unsigned)(i % 300));
        struct batch_pool *other = batch_pool_new("lab", source, source, 7, NULL);
        struct tacho_batch *batch = storedata_batch(other, i, (uint32_t)(i % 3));
        CU_ASSERT_EQUAL(store_append(store, batch, NULL), TACHO_OK);
        batch_unref(batch);
        batch_pool_free(other);
    }
    store_flush(store, NULL);
    CU_ASSERT_EQUAL(rig_read(path, NULL, NULL, NULL), 1500);
    store_close(store);
    CU_ASSERT_EQUAL(rig_read(path, NULL, NULL, NULL), 1500);
}

static void test_follow(void)
{
    const char *path = rig_folder();
    struct tacho_store *store =
        rig_open(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 8192});
    struct tacho_cursor *cursor = rig_cursor(path);
    uint64_t count = 0;
    for (uint64_t i = 1; i <= 300; i++) {
        rig_append(store, i, i, 2);
        if (i % 7 == 0) {
            store_flush(store, NULL);
            count += rig_read_on(cursor, NULL, NULL);
            CU_ASSERT_EQUAL_FATAL(count, i);
        }
    }
    store_close(store);
    count += rig_read_on(cursor, NULL, NULL);
    CU_ASSERT_EQUAL(count, 300);
    struct cursor_stats seen;
    cursor_stats(cursor, &seen);
    CU_ASSERT_EQUAL(seen.damaged_bytes + seen.missing, 0);
    CU_ASSERT(seen.segments > 3);
    cursor_close(cursor);
}

static void test_seek(void)
{
    const char *path = rig_folder();
    struct tacho_store *store =
        rig_open(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 8192});
    rig_append(store, 1, 300, 2);
    store_close(store);
    struct cursor_stats whole;
    rig_read(path, NULL, NULL, &whole);
    uint64_t segments = whole.segments;
    CU_ASSERT(segments > 5);
    for (uint64_t from = 0; from <= 301; from += 43) {
        struct tacho_cursor *cursor = rig_cursor(path);
        uint64_t first = 0, last = 0;
        int64_t wall_ns = STOREDATA_START_NS + (int64_t)from * STOREDATA_STEP_NS - 5;
        CU_ASSERT_EQUAL(cursor_seek(cursor, wall_ns, NULL), TACHO_OK);
        uint64_t count = rig_read_on(cursor, &first, &last);
        struct cursor_stats seen;
        cursor_stats(cursor, &seen);
        CU_ASSERT_EQUAL(count, from <= 1 ? 300 : from > 300 ? 0 : 301 - from);
        CU_ASSERT(count == 0 || (last == 300 && first == (from ? from : 1)));
        CU_ASSERT(seen.segments <= segments * (301 - (from ? from : 1)) / 300 + 2);
        /* And back. */
        CU_ASSERT_EQUAL(cursor_seek(cursor, 0, NULL), TACHO_OK);
        CU_ASSERT_EQUAL(rig_read_on(cursor, NULL, NULL), 300);
        cursor_close(cursor);
    }
}

const struct test tests[] = {
    {"write_and_read", test_write_and_read},
    {"write_and_read_compressed", test_write_and_read_compressed},
    {"closed_segments", test_closed_segments},
    {"number_goes_on", test_number_goes_on},
    {"second_writer", test_second_writer},
    {"bad_folder", test_bad_folder},
    {"many_schemas", test_many_schemas},
    {"follow", test_follow},
    {"seek", test_seek},
    {NULL, NULL},
};
