/* SPDX-License-Identifier: MIT */
/*
 * Writes a log for tests that kill the writer or take its disk away:
 *
 *     storewriter write FOLDER FIRST COUNT [KEY=NUMBER …]   appends batches FIRST, FIRST + 1, …
 *     storewriter read PATH                                 prints the number of every batch
 *
 * `write` prints "ack N" when batch N and all before it are flushed, and once a second what the
 * store says of itself. `read` prints "bad" for a batch with any wrong value. Keys: sync (enum
 * tacho_sync), segment, max (bytes), compress, every (batches for each flush), pause_us, cpus.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/store.h"
#include "tests/storedata.h"

struct settings {
    uint64_t sync, segment, max, compress, every, pause_us, cpus;
};

static int set(struct settings *settings, const char *text)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {{"sync=", offsetof(struct settings, sync)},
                {"segment=", offsetof(struct settings, segment)},
                {"max=", offsetof(struct settings, max)},
                {"compress=", offsetof(struct settings, compress)},
                {"every=", offsetof(struct settings, every)},
                {"pause_us=", offsetof(struct settings, pause_us)},
                {"cpus=", offsetof(struct settings, cpus)}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t length = strlen(keys[i].key);
        if (strncmp(text, keys[i].key, length) == 0) {
            uint64_t number = strtoull(text + length, NULL, 10);
            memcpy((char *)settings + keys[i].offset, &number, sizeof number);
            return 0;
        }
    }
    return -1;
}

static void say(const char *what, uint64_t number)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s %" PRIu64 "\n", what, number);
    if (write(STDOUT_FILENO, line, (size_t)length) != length) {
        exit(1);
    }
}

static void say_stats(const struct tacho_store *store)
{
    struct tacho_store_stats stats = {.struct_size = sizeof stats};
    store_stats(store, &stats);
    say("degraded", (uint64_t)stats.degraded);
    say("dropped", stats.dropped_frames);
}

static void write_batches(struct tacho_store *store, struct batch_pool *pool, uint64_t first,
                          uint64_t count, const struct settings *settings)
{
    int64_t said_ns = clock_mono_ns();
    for (uint64_t number = first; number < first + count; number++) {
        struct tacho_batch *batch = storedata_batch(pool, number, (uint32_t)settings->cpus);
        store_append(store, batch, NULL);
        batch_unref(batch);
        if (number % settings->every == 0 && store_flush(store, NULL) == TACHO_OK) {
            say("ack", number);
        }
        if (clock_mono_ns() - said_ns >= NS_PER_S) {
            said_ns = clock_mono_ns();
            say_stats(store);
        }
        if (settings->pause_us) {
            clock_sleep_until(clock_mono_ns() + (int64_t)settings->pause_us * NS_PER_US);
        }
    }
    if (store_flush(store, NULL) == TACHO_OK) {
        say("ack", first + count - 1);
    }
    say_stats(store);
}

static int write_log(const char *folder, uint64_t first, uint64_t count,
                     const struct settings *settings)
{
    const struct store_writer writer = {
        .fleet = "lab", .host = "node", .stream = "test", .version = "test", .session = 1};
    struct tacho_store_options options = {.struct_size = sizeof options,
                                          .sync = (uint32_t)settings->sync,
                                          .path = folder,
                                          .sync_interval_ns = 100 * NS_PER_MS,
                                          .segment_bytes = (int64_t)settings->segment,
                                          .max_bytes = (int64_t)settings->max,
                                          .compress = settings->compress != 0};
    struct tacho_store *store;
    struct tacho_err err = {0};
    struct batch_pool *pool = batch_pool_new("lab", "node", "test", 1, NULL);
    if (!pool || store_open(&options, &writer, &store, &err) != TACHO_OK) {
        fprintf(stderr, "storewriter: %s\n", err.text);
        return 1;
    }
    write_batches(store, pool, first, count, settings);
    store_close(store);
    batch_pool_free(pool);
    return 0;
}

static int read_log(const char *path)
{
    struct tacho_cursor *cursor;
    struct tacho_batch *batch;
    struct tacho_err err = {0};
    struct batch_pool *pool = batch_pool_new("", "", "", 0, NULL);
    if (!pool || cursor_open(path, pool, &cursor, &err) != TACHO_OK) {
        fprintf(stderr, "storewriter: %s\n", err.text);
        return 1;
    }
    while (cursor_next(cursor, &batch, &err) == TACHO_OK) {
        uint64_t number = storedata_check(batch);
        if (number) {
            printf("%" PRIu64 "\n", number);
        } else {
            puts("bad");
        }
        batch_unref(batch);
    }
    cursor_close(cursor);
    batch_pool_free(pool);
    return 0;
}

int main(int argc, char **argv)
{
    struct settings settings = {.sync = TACHO_SYNC_INTERVAL, .every = 1, .cpus = 4};
    for (int i = 5; i < argc; i++) {
        if (set(&settings, argv[i]) != 0) {
            fprintf(stderr, "storewriter: cannot understand %s\n", argv[i]);
            return 2;
        }
    }
    if (argc >= 5 && strcmp(argv[1], "write") == 0) {
        return write_log(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10),
                         &settings);
    }
    if (argc == 3 && strcmp(argv[1], "read") == 0) {
        return read_log(argv[2]);
    }
    fputs("usage: storewriter write FOLDER FIRST COUNT [KEY=NUMBER …] | read PATH\n", stderr);
    return 2;
}
