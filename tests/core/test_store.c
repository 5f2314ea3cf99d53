/* SPDX-License-Identifier: MIT */
/* Logs written and read back: what is kept, what is dropped and announced, what a restart finds,
 * and what damage costs. */
#include <dirent.h>
#include <errno.h>
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
#include "tests/harness.h"
#include "tests/storedata.h"

static const struct store_writer writer = {
    .fleet = "lab", .host = "node", .stream = "msgpack", .version = "test", .session = 7};

static struct batch_pool *pool;

static const char *new_folder(void)
{
    static int count;
    static char path[128];
    snprintf(path, sizeof path, "%s/log%d", harness_tmpdir(), count++);
    return path;
}

static struct tacho_store *open_with(const char *path, struct tacho_store_options options)
{
    struct tacho_store *store = NULL;
    struct tacho_err err = {0};
    options.struct_size = sizeof options;
    options.path = path;
    if (!pool) {
        pool = batch_pool_new("lab", "node", "proc", 7, NULL);
    }
    int result = store_open(&options, &writer, &store, &err);
    CU_ASSERT_EQUAL_FATAL(result, TACHO_OK);
    return store;
}

static void append(struct tacho_store *store, uint64_t first, uint64_t last, uint32_t cpus)
{
    for (uint64_t i = first; i <= last; i++) {
        struct tacho_batch *batch = storedata_batch(pool, i, cpus);
        CU_ASSERT_EQUAL(store_append(store, batch, NULL), TACHO_OK);
        batch_unref(batch);
    }
}

static struct tacho_store_stats stats_of(const struct tacho_store *store)
{
    struct tacho_store_stats stats = {.struct_size = sizeof stats};
    store_stats(store, &stats);
    return stats;
}

/* Reads on to the end; every batch must be right, numbers must grow. Returns how many there were.
 */
static uint64_t read_on(struct tacho_cursor *cursor, uint64_t *out_first, uint64_t *out_last)
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

static struct tacho_cursor *open_cursor(const char *path)
{
    struct tacho_cursor *cursor = NULL;
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL_FATAL(cursor_open(path, pool, &cursor, &err), TACHO_OK);
    return cursor;
}

static uint64_t read_all(const char *path, uint64_t *out_first, uint64_t *out_last,
                         struct cursor_stats *out_stats)
{
    struct tacho_cursor *cursor = open_cursor(path);
    uint64_t count = read_on(cursor, out_first, out_last);
    if (out_stats) {
        cursor_stats(cursor, out_stats);
    }
    cursor_close(cursor);
    return count;
}

/* Path of the nth segment of a folder. */
static const char *segment_path(const char *folder, size_t nth)
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

static size_t load(const char *path, char **out)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    CU_ASSERT_FATAL(fd >= 0 && fstat(fd, &status) == 0);
    *out = malloc((size_t)status.st_size);
    CU_ASSERT_EQUAL_FATAL(read(fd, *out, (size_t)status.st_size), status.st_size);
    close(fd);
    return (size_t)status.st_size;
}

static void save(const char *path, const char *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CU_ASSERT_EQUAL_FATAL(write(fd, data, length), (ssize_t)length);
    close(fd);
}

/* ---- writing and reading --------------------------------------------------------------------- */

static void write_and_read(int compress)
{
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.compress = compress, .segment_bytes = 40000});
    append(store, 1, 500, 4);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    struct cursor_stats seen;
    uint64_t first = 0, last = 0;
    CU_ASSERT_EQUAL(read_all(path, &first, &last, &seen), 500);
    store_close(store);
    CU_ASSERT_EQUAL(read_all(path, &first, &last, &seen), 500);
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
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 200000});
    append(store, 1, 1000, 4);
    store_close(store);
    struct stat status;
    CU_ASSERT_EQUAL(stat(path, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0700);
    const char *file = segment_path(path, 0);
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
    const char *path = new_folder();
    for (uint64_t round = 0; round < 5; round++) {
        struct tacho_store *store = open_with(path, (struct tacho_store_options){0});
        append(store, round * 10 + 1, round * 10 + 10, 1);
        store_close(store);
    }
    struct cursor_stats seen;
    CU_ASSERT_EQUAL(read_all(path, NULL, NULL, &seen), 50);
    CU_ASSERT_EQUAL(seen.missing, 0);
    CU_ASSERT_EQUAL(seen.segments, 5);
}

static void test_second_writer(void)
{
    const char *path = new_folder();
    struct tacho_store *store = open_with(path, (struct tacho_store_options){0});
    struct tacho_store *second = NULL;
    struct tacho_err err = {0};
    struct tacho_store_options options = {.struct_size = sizeof options, .path = path};
    CU_ASSERT_EQUAL(store_open(&options, &writer, &second, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another"));
    store_close(store);
    CU_ASSERT_EQUAL(store_open(&options, &writer, &second, &err), TACHO_OK);
    store_close(second);
}

static void test_bad_folder(void)
{
    struct tacho_store *store = NULL;
    struct tacho_err err = {0};
    struct tacho_store_options options = {.struct_size = sizeof options,
                                          .path = "/proc/version/log"};
    CU_ASSERT_EQUAL(store_open(&options, &writer, &store, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/proc/version"));
    err = (struct tacho_err){0};
    struct tacho_cursor *cursor = NULL;
    CU_ASSERT_EQUAL(cursor_open("/nowhere/log", pool, &cursor, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/log"));
}

static void test_many_schemas(void)
{
    const char *path = new_folder();
    struct tacho_store *store = open_with(path, (struct tacho_store_options){.compress = 1});
    /* More than a decoder remembers, each of them again and again. */
    for (uint64_t i = 1; i <= 900; i++) {
        append(store, i, i, (uint32_t)(i % 300) / 10);
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
    CU_ASSERT_EQUAL(read_all(path, NULL, NULL, NULL), 1500);
    store_close(store);
    CU_ASSERT_EQUAL(read_all(path, NULL, NULL, NULL), 1500);
}

static void test_follow(void)
{
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 8192});
    struct tacho_cursor *cursor = open_cursor(path);
    uint64_t count = 0;
    for (uint64_t i = 1; i <= 300; i++) {
        append(store, i, i, 2);
        if (i % 7 == 0) {
            store_flush(store, NULL);
            count += read_on(cursor, NULL, NULL);
            CU_ASSERT_EQUAL_FATAL(count, i);
        }
    }
    store_close(store);
    count += read_on(cursor, NULL, NULL);
    CU_ASSERT_EQUAL(count, 300);
    struct cursor_stats seen;
    cursor_stats(cursor, &seen);
    CU_ASSERT_EQUAL(seen.damaged_bytes + seen.missing, 0);
    CU_ASSERT(seen.segments > 3);
    cursor_close(cursor);
}

static void test_seek(void)
{
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 8192});
    append(store, 1, 300, 2);
    store_close(store);
    struct cursor_stats whole;
    read_all(path, NULL, NULL, &whole);
    uint64_t segments = whole.segments;
    CU_ASSERT(segments > 5);
    for (uint64_t from = 0; from <= 301; from += 43) {
        struct tacho_cursor *cursor = open_cursor(path);
        uint64_t first = 0, last = 0;
        int64_t wall_ns = STOREDATA_START_NS + (int64_t)from * STOREDATA_STEP_NS - 5;
        CU_ASSERT_EQUAL(cursor_seek(cursor, wall_ns, NULL), TACHO_OK);
        uint64_t count = read_on(cursor, &first, &last);
        struct cursor_stats seen;
        cursor_stats(cursor, &seen);
        CU_ASSERT_EQUAL(count, from <= 1 ? 300 : from > 300 ? 0 : 301 - from);
        CU_ASSERT(count == 0 || (last == 300 && first == (from ? from : 1)));
        CU_ASSERT(seen.segments <= segments * (301 - (from ? from : 1)) / 300 + 2);
        /* And back. */
        CU_ASSERT_EQUAL(cursor_seek(cursor, 0, NULL), TACHO_OK);
        CU_ASSERT_EQUAL(read_on(cursor, NULL, NULL), 300);
        cursor_close(cursor);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* One segment with few small batches, as bytes. */
static size_t small_log(int compress, char **out)
{
    const char *path = new_folder();
    struct tacho_store *store = open_with(path, (struct tacho_store_options){.compress = compress});
    append(store, 1, 6, 1);
    store_close(store);
    return load(segment_path(path, 0), out);
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
    const char *path = new_folder();
    mkdir(path, 0700);
    char file[256];
    snprintf(file, sizeof file, "%s/%020d-20260101T000000Z.msgpack", path, 1);
    for (size_t cut = 0; cut <= length; cut++) {
        save(file, data, cut);
        uint64_t whole = whole_batches(data, cut);
        CU_ASSERT_EQUAL_FATAL(read_all(file, NULL, NULL, NULL), whole);
        /* A writer starts on it, goes on behind it, and all whole frames are still there. */
        if (cut % 5 == 0 || cut == length) {
            struct tacho_store *store = open_with(path, (struct tacho_store_options){0});
            append(store, whole + 1, whole + 2, 1);
            store_close(store);
            CU_ASSERT_EQUAL_FATAL(read_all(path, NULL, NULL, NULL), whole + 2);
            while (access(segment_path(path, 0), F_OK) == 0) {
                char *last = strdup(segment_path(path, 0));
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
        save(file, data, length);
        CU_ASSERT_FATAL(read_all(file, NULL, NULL, NULL) >= least);
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
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.segment_bytes = 8192});
    append(store, 1, 200, 2);
    store_close(store);
    char *data;
    const char *file = strdup(segment_path(path, 1));
    size_t length = load(file, &data);
    memset(data + length / 2, 0, 300);
    save(file, data, length);
    free(data);
    /* A writer with compression comes by: every readable batch stays readable. */
    store = open_with(path, (struct tacho_store_options){.compress = 1, .segment_bytes = 8192});
    append(store, 201, 210, 2);
    store_close(store);
    struct cursor_stats seen;
    uint64_t count = read_all(path, NULL, NULL, &seen);
    CU_ASSERT(count < 210 && count >= 210 - 4);
    CU_ASSERT_EQUAL(seen.damaged_places, 1);
    CU_ASSERT_EQUAL(seen.missing, 210 - count);
    size_t after = load(file, &data);
    CU_ASSERT_EQUAL(after, length);
    free(data);
    free((char *)file);
}

static void test_leftovers(void)
{
    const char *path = new_folder();
    struct tacho_store *store = open_with(path, (struct tacho_store_options){0});
    append(store, 1, 10, 1);
    store_close(store);
    char leftover[300], stranger[300];
    snprintf(leftover, sizeof leftover, "%s.tmp", segment_path(path, 0));
    snprintf(stranger, sizeof stranger, "%s/notes.tmp", path);
    save(leftover, "half", 4);
    save(stranger, "mine", 4);
    store = open_with(path, (struct tacho_store_options){0});
    CU_ASSERT_NOT_EQUAL(access(leftover, F_OK), 0);
    CU_ASSERT_EQUAL(access(stranger, F_OK), 0);
    store_close(store);
    CU_ASSERT_EQUAL(read_all(path, NULL, NULL, NULL), 10);
}

/* ---- limits ---------------------------------------------------------------------------------- */

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
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.max_bytes = 100000, .segment_bytes = 10000});
    for (uint64_t i = 1; i <= 2000; i++) {
        append(store, i, i, 2);
        if (i % 100 == 0) {
            CU_ASSERT(folder_bytes(path) <= 100000);
        }
    }
    struct tacho_store_stats stats = stats_of(store);
    CU_ASSERT(stats.dropped_segments > 5);
    CU_ASSERT_EQUAL(stats.bytes <= 100000, 1);
    store_close(store);
    uint64_t first, last;
    uint64_t count = read_all(path, &first, &last, NULL);
    CU_ASSERT_EQUAL(last, 2000);
    CU_ASSERT_EQUAL(count, last - first + 1);
    /* Gaps that were announced in segments since dropped are gone with them. */
    struct cursor_stats seen;
    read_all(path, NULL, NULL, &seen);
    CU_ASSERT_EQUAL(seen.missing, 0);
}

static void test_max_age(void)
{
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.segment_bytes = 4096});
    append(store, 1, 100, 2);
    store_close(store);
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char *oldest = strdup(segment_path(path, 0));
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, oldest, old, 0), 0);
    store = open_with(path, (struct tacho_store_options){.max_age_ns = 3600 * NS_PER_S});
    CU_ASSERT_NOT_EQUAL(access(oldest, F_OK), 0);
    append(store, 101, 101, 2);
    store_close(store);
    assert_accounted(path, 101);
    uint64_t first;
    read_all(path, &first, NULL, NULL);
    CU_ASSERT(first > 1);
    free(oldest);
}

static void test_gap_alone_is_kept(void)
{
    const char *path = new_folder();
    struct tacho_store *store =
        open_with(path, (struct tacho_store_options){.segment_bytes = 4096});
    append(store, 1, 100, 2);
    store_close(store);
    store = open_with(path, (struct tacho_store_options){.max_bytes = 16384});
    CU_ASSERT(stats_of(store).dropped_segments > 0);
    store_close(store);
    assert_accounted(path, 100);
    store = open_with(path, (struct tacho_store_options){0});
    append(store, 101, 110, 2);
    store_close(store);
    assert_accounted(path, 110);
}

static void test_failing_disk(void)
{
    const char *path = new_folder();
    struct rlimit before, low;
    signal(SIGXFSZ, SIG_IGN);
    struct tacho_store *store = open_with(path, (struct tacho_store_options){0});
    append(store, 1, 100, 2);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    low = before;
    low.rlim_cur = 100; /* not even a header fits */
    setrlimit(RLIMIT_FSIZE, &low);
    append(store, 101, 4000, 2);
    struct tacho_err err = {0};
    CU_ASSERT_EQUAL(store_flush(store, &err), TACHO_RETRY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
    struct tacho_store_stats stats = stats_of(store);
    CU_ASSERT_EQUAL(stats.degraded, 1);
    CU_ASSERT(stats.io_errors > 0);
    CU_ASSERT(stats.dropped_frames > 2000);
    setrlimit(RLIMIT_FSIZE, &before);
    clock_sleep_until(clock_mono_ns() + 1100 * NS_PER_MS);
    append(store, 4001, 4010, 2);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    stats = stats_of(store);
    CU_ASSERT_EQUAL(stats.degraded, 0);
    store_close(store);
    assert_accounted(path, 4010);
    uint64_t last;
    struct cursor_stats seen;
    uint64_t count = read_all(path, NULL, &last, &seen);
    CU_ASSERT_EQUAL(last, 4010);
    CU_ASSERT_EQUAL(count + stats.dropped_frames, 4010);
    CU_ASSERT_EQUAL(seen.announced, stats.dropped_frames);
    CU_ASSERT_EQUAL(seen.missing + seen.damaged_bytes, 0);
}

static void test_small_file_limit(void)
{
    /* Each write beyond 20000 bytes fails: segments are cut back and new ones begun. */
    const char *path = new_folder();
    struct rlimit before, low;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    low = before;
    low.rlim_cur = 20000;
    setrlimit(RLIMIT_FSIZE, &low);
    struct tacho_store *store = open_with(path, (struct tacho_store_options){0});
    append(store, 1, 1000, 2);
    CU_ASSERT_EQUAL(store_flush(store, NULL), TACHO_OK);
    setrlimit(RLIMIT_FSIZE, &before);
    store_close(store);
    struct cursor_stats seen;
    CU_ASSERT_EQUAL(read_all(path, NULL, NULL, &seen), 1000);
    CU_ASSERT(seen.segments > 5);
    CU_ASSERT_EQUAL(seen.missing + seen.damaged_bytes, 0);
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
    {"cut_everywhere", test_cut_everywhere},
    {"cut_everywhere_compressed", test_cut_everywhere_compressed},
    {"flip_everywhere", test_flip_everywhere},
    {"damage_in_the_middle_is_kept", test_damage_in_the_middle_is_kept},
    {"leftovers", test_leftovers},
    {"max_bytes", test_max_bytes},
    {"max_age", test_max_age},
    {"gap_alone_is_kept", test_gap_alone_is_kept},
    {"failing_disk", test_failing_disk},
    {"small_file_limit", test_small_file_limit},
    {NULL, NULL},
};
