/* SPDX-License-Identifier: MIT */
/*
 * Measures a log: `bench_store FOLDER [ROUNDS]` writes batches like those of a host into a new log
 * and prints values a second while writing, bytes for a value before and after compression, and
 * values a second while reading. `bench_store --from LOG FOLDER [ROUNDS]` does the same with the
 * batches of a recorded log.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/store.h"
#include "core/store_segment.h"
#include "tests/storedata.h"

enum { MADE = 4096, CPUS = 24, LIMIT = 65536 };

static struct batch_pool *pool;
static struct tacho_batch *batches[LIMIT];
static size_t batch_count;
static uint64_t value_count;

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static int make_batches(void)
{
    for (batch_count = 0; batch_count < MADE; batch_count++) {
        batches[batch_count] = storedata_batch(pool, batch_count + 1, CPUS);
        if (!batches[batch_count]) {
            return 1;
        }
        value_count += batches[batch_count]->value_count;
    }
    return 0;
}

static int read_batches(const char *path)
{
    struct tacho_err err = {0};
    struct tacho_cursor *cursor;
    if (cursor_open(path, pool, &cursor, &err) != TACHO_OK) {
        fprintf(stderr, "bench_store: %s\n", err.text);
        return 1;
    }
    struct tacho_batch *batch;
    while (batch_count < LIMIT && cursor_next(cursor, &batch, &err) == TACHO_OK) {
        batch_seal(batch, 0);
        value_count += batch->value_count;
        batches[batch_count++] = batch;
    }
    cursor_close(cursor);
    return batch_count ? 0 : 1;
}

static uint64_t folder_bytes(const char *path)
{
    struct segment *list = NULL;
    size_t count = 0;
    uint64_t bytes = 0;
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    if (fd >= 0 && segment_list(fd, &list, &count, NULL) == TACHO_OK) {
        for (size_t i = 0; i < count; i++) {
            bytes += list[i].bytes;
        }
        free(list);
    }
    if (fd >= 0) {
        close(fd);
    }
    return bytes;
}

/* Writes all batches `rounds` times; the encoding of each is made anew only in the first. */
static int write_log(const char *path, int compress, uint64_t rounds)
{
    const struct store_writer writer = {
        .fleet = "lab", .host = "node", .stream = "bench", .version = "bench", .session = 1};
    struct tacho_store_options options = {.struct_size = sizeof options,
                                          .path = path,
                                          .sync = TACHO_SYNC_INTERVAL,
                                          .sync_interval_ns = NS_PER_S,
                                          .segment_bytes = 8 << 20,
                                          .compress = compress};
    struct tacho_store *store;
    struct tacho_err err = {0};
    if (store_open(&options, &writer, &store, &err) != TACHO_OK) {
        fprintf(stderr, "bench_store: %s\n", err.text);
        return 1;
    }
    int64_t begin = clock_mono_ns();
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < batch_count; i++) {
            store_append(store, batches[i], NULL);
        }
    }
    store_flush(store, NULL);
    double seconds = (double)(clock_mono_ns() - begin) / 1e9;
    int64_t closing = clock_mono_ns();
    store_close(store);
    double close_seconds = (double)(clock_mono_ns() - closing) / 1e9;
    uint64_t values = value_count * rounds;
    printf("%-12s %7.2f M values/s written, close %.3f s, %5.2f bytes/value\n",
           compress ? "compressed" : "plain", (double)values / seconds / 1e6, close_seconds,
           (double)folder_bytes(path) / (double)values);
    return 0;
}

static int read_log(const char *path)
{
    struct tacho_cursor *cursor;
    struct tacho_batch *batch;
    uint64_t values = 0;
    if (cursor_open(path, pool, &cursor, NULL) != TACHO_OK) {
        return 1;
    }
    int64_t begin = clock_mono_ns();
    while (cursor_next(cursor, &batch, NULL) == TACHO_OK) {
        values += batch->value_count;
        batch_discard(batch);
    }
    printf("%-12s %7.2f M values/s read\n", "",
           (double)values / ((double)(clock_mono_ns() - begin) / 1e9) / 1e6);
    cursor_close(cursor);
    return 0;
}

int main(int argc, char **argv)
{
    const char *from = argc > 3 && strcmp(argv[1], "--from") == 0 ? argv[2] : NULL;
    const char *folder = from ? argv[3] : argc > 1 ? argv[1] : NULL;
    const char *number = from ? (argc > 4 ? argv[4] : NULL) : (argc > 2 ? argv[2] : NULL);
    uint64_t rounds = number ? strtoull(number, NULL, 10) : 1;
    if (!folder || rounds == 0) {
        fputs("usage: bench_store [--from LOG] FOLDER [ROUNDS]\n", stderr);
        return 2;
    }
    pool = batch_pool_new("lab", "node", "proc", 1, NULL);
    if (from ? read_batches(from) : make_batches()) {
        return 1;
    }
    printf("%zu batches, %" PRIu64 " values each\n", batch_count, value_count / batch_count);
    char path[4096];
    for (int compress = 0; compress <= 1; compress++) {
        snprintf(path, sizeof path, "%s/%s", folder, compress ? "compressed" : "plain");
        if (write_log(path, compress, rounds) || read_log(path)) {
            return 1;
        }
    }
    printf("CPU time %.3f s\n", cpu_seconds());
    return 0;
}
