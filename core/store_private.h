/* SPDX-License-Identifier: MIT */
/*
 * The inside of a log's writer, shared by the store_*.c files that make it up. A batch is first put
 * in the ring of those that wait, with its number; then framed into `out`; then written, and only
 * then let go. When writing fails the open segment is cut back to its last good byte and left, and
 * all that wait are framed again for a new one: nothing is ever appended behind garbage.
 *
 * Everything is protected by `lock`, except what is constant after opening. The keeper thread does
 * what would make appending wait: sync, compression, retention by time.
 */
#ifndef TACHO_CORE_STORE_PRIVATE_H
#define TACHO_CORE_STORE_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store.h"
#include "core/store_segment.h"

enum {
    STORE_WAITING = 1024,              /* batches kept in memory while writing fails … */
    STORE_WAITING_BYTES = 1024 * 1024, /* … and their encoded bytes together */
    STORE_FRAMED = 4,                  /* batches written together at most; a pool keeps eight */
    STORE_OUT_BYTES = 32 * 1024,       /* or written when this much is framed */
    STORE_SCHEMAS = 192,               /* fewer than a decoder remembers */
    STORE_GAPS = 16,
};

struct store_waiting {
    const struct tacho_batch *batch;
    uint64_t seq;
    size_t bytes;
};

/* A segment that is no longer written to. */
struct store_closed {
    struct segment segment;
    uint64_t last_seq;
    int fd;      /* not yet synced, or -1 */
    bool packed; /* nothing left to do for the keeper */
};

struct tacho_store {
    pthread_mutex_t lock;
    char *path;
    int folder_fd; /* holds the lock against a second writer */
    struct tacho_store_options options;
    struct segment_header header;

    int fd; /* of the open segment, or -1 */
    char name[SEGMENT_NAME];
    uint64_t offset;          /* good bytes in it */
    struct segment_seal seal; /* of what is written */
    bool announces;           /* it holds gaps */
    int64_t begun_mono_ns;
    uint64_t schemas[STORE_SCHEMAS]; /* written in this segment, used last first */
    uint32_t schema_count;
    struct buf out;

    struct store_waiting waiting[STORE_WAITING];
    uint32_t waiting_first, waiting_count, framed;
    size_t waiting_bytes;
    uint64_t next_seq;
    struct segment_gap gaps[STORE_GAPS]; /* not yet announced */
    uint32_t gap_count, gaps_framed;

    struct store_closed *closed; /* oldest first */
    size_t closed_count, closed_size;
    uint64_t closed_bytes;

    pthread_t keeper;
    pthread_cond_t wake;
    bool stopping;
    bool dirty, folder_dirty; /* written and not synced */
    int64_t synced_mono_ns;
    int64_t retry_mono_ns; /* while degraded */
    struct tacho_store_stats stats;
    struct tacho_err trouble; /* the last failure, while degraded */
};

/* ---- store_write.c --------------------------------------------------------------------------- */

/* Writes everything that waits; opens segments and makes room as needed. With an error the rest
 * still waits, and the store is degraded. */
int store_drain(struct tacho_store *store);

/* Frames what is not framed yet, and writes when there is enough of it. */
int store_push(struct tacho_store *store);

/* Seals the open segment, if there is one, and hands it to the keeper. */
void store_rotate(struct tacho_store *store);
bool store_rotation_due(const struct tacho_store *store, int64_t mono_ns);

/* Leaves the open segment after a failure that errno tells. */
void store_fail(struct tacho_store *store, const char *what);

/* ---- store_retain.c -------------------------------------------------------------------------- */

bool store_add_closed(struct tacho_store *store, const struct segment *segment, uint64_t last_seq,
                      int fd);
void store_forget_closed(struct tacho_store *store, size_t index);
void store_drop_oldest(struct tacho_store *store, const char *reason);
void store_retain_bytes(struct tacho_store *store);
void store_retain(struct tacho_store *store);
void store_announce(struct tacho_store *store, uint64_t first_seq, uint64_t last_seq,
                    const char *reason);

/* Lets go of the oldest batch that waits, and announces it. */
void store_drop_waiting(struct tacho_store *store, const char *reason);

/* ---- store_keeper.c -------------------------------------------------------------------------- */

void *store_keep(void *store);

/* Syncs and compresses closed segments until mono_ns; called with the lock held. */
void store_finish_closed(struct tacho_store *store, int64_t until_mono_ns);

/* ---- store_recover.c ------------------------------------------------------------------------- */

/* Cleans what a crash left, closes the last segment, fills the closed list and next_seq. */
int store_recover(struct tacho_store *store, struct tacho_err *err);

/* ---- store_pack.c ---------------------------------------------------------------------------- */

/* Compresses a segment into NAME.tmp, synced. TACHO_NO_DATA when there is nothing to gain. */
int store_pack(int folder_fd, const char *name, char out_temporary[SEGMENT_NAME + 8],
               struct tacho_err *err);

#endif
