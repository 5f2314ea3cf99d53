/* SPDX-License-Identifier: MIT */
/*
 * What the tests of logs share: folders that go with the program, stores and cursors that must
 * open, and batches that are checked value by value when they are read.
 */
#ifndef TACHO_TESTS_CORE_STORE_RIG_H
#define TACHO_TESTS_CORE_STORE_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "core/store.h"

extern const struct store_writer rig_writer;
extern struct batch_pool *rig_pool; /* made by the first rig_open */

/* A path that does not exist yet; kept until the next call. */
const char *rig_folder(void);

/* Opens a log with these options beside the path. */
struct tacho_store *rig_open(const char *path, struct tacho_store_options options);
void rig_append(struct tacho_store *store, uint64_t first, uint64_t last, uint32_t cpus);
struct tacho_store_stats rig_stats(const struct tacho_store *store);

struct tacho_cursor *rig_cursor(const char *path);

/* Reads on to the end; every batch must be right, numbers must grow. Returns how many there were.
 * Outputs may be NULL. */
uint64_t rig_read_on(struct tacho_cursor *cursor, uint64_t *out_first, uint64_t *out_last);
uint64_t rig_read(const char *path, uint64_t *out_first, uint64_t *out_last,
                  struct cursor_stats *out_stats);

/* Path of the nth segment of a folder; kept until the next call. */
const char *rig_segment(const char *folder, size_t nth);

/* A whole file, to be freed; and back. */
size_t rig_load(const char *path, char **out);
void rig_save(const char *path, const char *data, size_t length);

#endif
