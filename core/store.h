/* SPDX-License-Identifier: MIT */
/*
 * Logs of batches on disk: segments of checksummed MessagePack frames, written by appending, closed
 * with a seal, compressed when closed, dropped oldest first. The format is told byte by byte in
 * sinks/msgpack/README.md; the promises (what survives a kill, a power loss, a full disk) stand
 * there too. These are the functions of struct tacho_host, plus what `tacho log` needs.
 */
#ifndef TACHO_CORE_STORE_H
#define TACHO_CORE_STORE_H

#include <stdint.h>

#include "core/batch.h"
#include "core/plugin.h"

/* Who writes; goes into the header of each segment. */
struct store_writer {
    const char *fleet, *host, *stream, *version;
    uint64_t session;
};

int store_open(const struct tacho_store_options *options, const struct store_writer *writer,
               struct tacho_store **out, struct tacho_err *err);
int store_append(struct tacho_store *store, const struct tacho_batch *batch, struct tacho_err *err);
int store_flush(struct tacho_store *store, struct tacho_err *err);
void store_stats(const struct tacho_store *store, struct tacho_store_stats *out);
void store_close(struct tacho_store *store);

/* Reading: a folder of segments or one file, oldest first; a log being written can be read. Batches
 * come from `pool` (borrowed). */
int cursor_open(const char *path, struct batch_pool *pool, struct tacho_cursor **out,
                struct tacho_err *err);
int cursor_seek(struct tacho_cursor *cursor, int64_t wall_ns, struct tacho_err *err);
int cursor_next(struct tacho_cursor *cursor, struct tacho_batch **out, struct tacho_err *err);
void cursor_close(struct tacho_cursor *cursor);

/* What a cursor met so far. */
struct cursor_stats {
    uint64_t segments, batches;
    uint64_t bytes;                         /* read, of files */
    uint64_t damaged_bytes, damaged_places; /* skipped */
    uint64_t unreadable; /* whole frames whose schema is gone, or that are none of ours */
    uint64_t announced;  /* frame numbers that the log says it dropped, between two that it has */
    uint64_t missing;    /* numbers between two frames that nobody announced */
};
void cursor_stats(const struct tacho_cursor *cursor, struct cursor_stats *out);

#endif
