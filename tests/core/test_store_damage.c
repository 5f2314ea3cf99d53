/* SPDX-License-Identifier: MIT */
/* Damaged logs: cut, with wrong bytes, with holes, with leftovers of a crash. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store.h"
#include "core/store_walk.h"
#include "tests/core/store_rig.h"
#include "tests/harness.h"
#include "tests/storedata.h"

/* One segment with few small batches, as bytes. */
static size_t small_log(int compress, char **out)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){.compress = compress});
    rig_append(store, 1, 6, 1);
    store_close(store);
    return rig_load(rig_segment(path, 0), out);
}

static uint64_t whole_batches(const char *data, size_t length)
{
    struct scan scan;
    struct frame frame;
    uint64_t count = 0;
    scan_init_memory(&scan, data, length);
    while (scan_next(&scan, &frame, NULL) == TACHO_OK) {
        count += frame.kind == FRAME_BATCH ? 1 : frame.kind == FRAME_BLOCK ? 6 : 0;
    }
    return count;
}

static void cut_everywhere(int compress)
{
    char *data;
    size_t length = small_log(compress, &data);
    const char *path = rig_folder();
    mkdir(path, 0700);
    char file[256];
    snprintf(file, sizeof file, "%s/%020d-20260101T000000Z.msgpack", path, 1);
    for (size_t cut = 0; cut <= length; cut++) {
        rig_save(file, data, cut);
        uint64_t whole = whole_batches(data, cut);
        CU_ASSERT_EQUAL_FATAL(rig_read(file, NULL, NULL, NULL), whole);
        /* A writer starts on it, goes on behind it, and all whole frames are still there. */
        if (cut % 5 == 0 || cut == length) {
            struct tacho_store *store = rig_open(path, (struct tacho_store_options){0});
            rig_append(store, whole + 1, whole + 2, 1);
            store_close(store);
            CU_ASSERT_EQUAL_FATAL(rig_read(path, NULL, NULL, NULL), whole + 2);
            while (access(rig_segment(path, 0), F_OK) == 0) {
                char *last = strdup(rig_segment(path, 0));
                unlink(last);
                free(last);
                struct segment *list = NULL;
                size_t count = 0;
                int fd = open(path, O_RDONLY | O_DIRECTORY);
                segment_list(fd, &list, &count, NULL);
                close(fd);
                free(list);
                if (count == 0) {
                    break;
                }
            }
        }
    }
    free(data);
}

static void test_cut_everywhere(void)
{
    cut_everywhere(0);
}

static void test_cut_everywhere_compressed(void)
{
    cut_everywhere(1);
}

static void flip_everywhere(int compress, uint64_t least)
{
    char *data;
    size_t length = small_log(compress, &data);
    char file[128];
    snprintf(file, sizeof file, "%s/flipped", harness_tmpdir());
    for (size_t at = 0; at < length; at++) {
        data[at] ^= (char)(1 << (at % 8));
        rig_save(file, data, length);
        CU_ASSERT_FATAL(rig_read(file, NULL, NULL, NULL) >= least);
        data[at] ^= (char)(1 << (at % 8));
    }
    free(data);
}

static void test_flip_everywhere(void)
{
    flip_everywhere(0, 5);
    flip_everywhere(1, 0);
}

static void test_damage_in_the_middle_is_kept(void)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){.segment_bytes = 8192});
    rig_append(store, 1, 200, 2);
    store_close(store);
    char *data;
    const char *file = strdup(rig_segment(path, 1));
    size_t length = rig_load(file, &data);
    memset(data + length / 2, 0, 300);
    rig_save(file, data, length);
    free(data);
    /* A writer with compression comes by: every readable batch stays readable. */
    store = rig_open(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 8192});
    rig_append(store, 201, 210, 2);
    store_close(store);
    struct cursor_stats seen;
    uint64_t count = rig_read(path, NULL, NULL, &seen);
    CU_ASSERT(count < 210 && count >= 210 - 4);
    CU_ASSERT_EQUAL(seen.damaged_places, 1);
    CU_ASSERT_EQUAL(seen.missing, 210 - count);
    size_t after = rig_load(file, &data);
    CU_ASSERT_EQUAL(after, length);
    free(data);
    free((char *)file);
}

static void test_leftovers(void)
{
    const char *path = rig_folder();
    struct tacho_store *store = rig_open(path, (struct tacho_store_options){0});
    rig_append(store, 1, 10, 1);
    store_close(store);
    char leftover[300], stranger[300];
    snprintf(leftover, sizeof leftover, "%s.tmp", rig_segment(path, 0));
    snprintf(stranger, sizeof stranger, "%s/notes.tmp", path);
    rig_save(leftover, "half", 4);
    rig_save(stranger, "mine", 4);
    store = rig_open(path, (struct tacho_store_options){0});
    CU_ASSERT_NOT_EQUAL(access(leftover, F_OK), 0);
    CU_ASSERT_EQUAL(access(stranger, F_OK), 0);
    store_close(store);
    CU_ASSERT_EQUAL(rig_read(path, NULL, NULL, NULL), 10);
}

const struct test tests[] = {
    {"cut_everywhere", test_cut_everywhere},
    {"cut_everywhere_compressed", test_cut_everywhere_compressed},
    {"flip_everywhere", test_flip_everywhere},
    {"damage_in_the_middle_is_kept", test_damage_in_the_middle_is_kept},
    {"leftovers", test_leftovers},
    {NULL, NULL},
};
