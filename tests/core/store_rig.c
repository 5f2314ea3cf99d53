/* SPDX-License-Identifier: MIT */
/* What the tests of logs share; see store_rig.h. */
#include "tests/core/store_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/store.h"
#include "core/store_walk.h"
#include "tests/harness.h"
#include "tests/storedata.h"

const struct store_writer rig_writer = {
    .fleet = "lab", .host = "node", .stream = "msgpack", .version = "test", .session = 7};

struct batch_pool *rig_pool;

const char *rig_folder(void)
{
    static int count;
    static char path[128];
    snprintf(path, sizeof path, "%s/log%d", harness_tmpdir(), count++);
    return path;
}

struct tacho_store *rig_open(const char *path, struct tacho_store_options options)
{
    struct tacho_store *store = NULL;
    struct tacho_err err = {0};
    options.struct_size = sizeof options;
    options.path = path;
    if (!rig_pool) {
        rig_pool = batch_pool_new("lab", "node", "proc", 7, NULL);
    }
    int result = store_open(&options, &rig_writer, &store, &err);
    CU_ASSERT_EQUAL_FATAL(result, TACHO_OK);
    return store;
}

void rig_append(struct tacho_store *store, uint64_t first, uint64_t last, uint32_t cpus)
{
    for (uint64_t i = first; i <= last; i++) {
        struct tacho_batch *batch = storedata_batch(rig_pool, i, cpus);
        CU_ASSERT_EQUAL(store_append(store, batch, NULL), TACHO_OK);
        batch_unref(batch);
    }
}

struct tacho_store_stats rig_stats(const struct tacho_store *store)
{
    struct tacho_store_stats stats = {.struct_size = sizeof stats};
    store_stats(store, &stats);
    return stats;
}

/* Reads on to the end; every batch must be right, numbers must grow. Returns how many there were.
 */
uint64_t rig_read_on(struct tacho_cursor *cursor, uint64_t *out_first, uint64_t *out_last)
{
    struct tacho_batch *batch;
    uint64_t count = 0, last = 0;
    while (cursor_next(cursor, &batch, NULL) == TACHO_OK) {
        uint64_t number = storedata_check(batch);
        CU_ASSERT_FATAL(number > last);
        last = number;
        if (count++ == 0 && out_first) {
            *out_first = number;
        }
        batch_unref(batch);
    }
    if (out_last) {
        *out_last = last;
    }
    return count;
}

struct tacho_cursor *rig_cursor(const char *path)
{
    struct tacho_cursor *cursor = NULL;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(cursor_open(path, rig_pool, &cursor, &err), TACHO_OK);
    return cursor;
}

uint64_t rig_read(const char *path, uint64_t *out_first, uint64_t *out_last,
                  struct cursor_stats *out_stats)
{
    struct tacho_cursor *cursor = rig_cursor(path);
    uint64_t count = rig_read_on(cursor, out_first, out_last);
    if (out_stats) {
        cursor_stats(cursor, out_stats);
    }
    cursor_close(cursor);
    return count;
}

/* Path of the nth segment of a folder. */
const char *rig_segment(const char *folder, size_t nth)
{
    static char path[256];
    struct segment *list = NULL;
    size_t count = 0;
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    CU_ASSERT_EQUAL_FATAL(segment_list(fd, &list, &count, NULL), TACHO_OK);
    close(fd);
    CU_ASSERT_FATAL(nth < count);
    snprintf(path, sizeof path, "%s/%s", folder, list[nth].name);
    free(list);
    return path;
}

size_t rig_load(const char *path, char **out)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    CU_ASSERT_FATAL(fd >= 0 && fstat(fd, &status) == 0);
    *out = malloc((size_t)status.st_size);
    CU_ASSERT_EQUAL_FATAL(read(fd, *out, (size_t)status.st_size), status.st_size);
    close(fd);
    return (size_t)status.st_size;
}

void rig_save(const char *path, const char *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_EQUAL_FATAL(write(fd, data, length), (ssize_t)length);
    close(fd);
}
