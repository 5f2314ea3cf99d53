/* SPDX-License-Identifier: MIT */
/*
 * A batch: what one source saw at one moment. It is open while one thread fills it, then sealed:
 * constant, shared by reference count, and encoded at most once for each format.
 *
 * Batches come from the pool of their source and go back to it with all their memory, so that a
 * steady source allocates nothing. A pool lives until its owner has let go and its last batch is
 * back.
 *
 * The functions that fill and read a batch are those of struct tacho_host, which documents them.
 */
#ifndef TACHO_CORE_BATCH_H
#define TACHO_CORE_BATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/buf.h"
#include "core/plugin.h"

/* More than any honest source needs; past a limit the rest of the batch is left out and `truncated`
 * says so. */
#define BATCH_ENTITY_LIMIT 65536
#define BATCH_VALUE_LIMIT 1048576
#define BATCH_ARENA_LIMIT (16u << 20)
#define BATCH_SHAPE_LIMIT 32
#define BATCH_TEXT_LIMIT 65535 /* bytes; longer texts are cut, at a whole character */
#define BATCH_LABEL_LIMIT 255  /* of a label's name */
#define BATCH_METRIC_WORDS 16
#define BATCH_FORMATS 5 /* enum tacho_format, 1-based */

/* Which metrics an instance means by its own indices 0, 1, …; owned by whoever runs the instance,
 * and only ever appended to. */
struct metric_map {
    uint32_t *ids;
    uint32_t count;
};

/* What volatile entities of one kind with the same metrics have in common. */
struct batch_shape {
    uint64_t hash;
    uint32_t example; /* index of such an entity */
};

struct batch_pool;

struct tacho_batch {
    struct batch_pool *pool;
    struct tacho_batch *next; /* while it lies in the pool */
    atomic_uint refs;
    bool sealed;
    bool truncated;
    bool numbered; /* origin was given: sealing leaves session and seq alone */

    const char *fleet, *host, *source;
    uint64_t session, seq, schema;
    int64_t wall_ns, mono_ns, duration_ns;
    uint32_t flags;

    const struct metric_map *map;
    struct tacho_entity *entities;
    struct tacho_label *labels;
    struct tacho_value *values;
    uint32_t entity_count, entity_size;
    uint32_t label_count, label_size;
    uint32_t value_count, value_size;
    uint64_t has_metric[BATCH_METRIC_WORDS]; /* bits of the metrics of the entity opened last */
    uint32_t stable_count; /* entities[0 … stable_count) are stable, the rest volatile */
    bool mixed;            /* a stable entity was opened after a volatile one */
    struct batch_shape shapes[BATCH_SHAPE_LIMIT]; /* found by sealing */
    uint32_t shape_count;
    struct arena names; /* texts of stable entities, in order: what the schema is made of */
    struct arena texts; /* texts of values and volatile entities, summaries, origin */

    pthread_mutex_t encode_lock; /* protects encoded */
    struct buf encoded[BATCH_FORMATS];
};

/* ---- pools ----------------------------------------------------------------------------------- */

/* The texts are copied. `map` is borrowed for the life of the pool's open batches; NULL: indices
 * are global metric ids. */
struct batch_pool *batch_pool_new(const char *fleet, const char *host, const char *source,
                                  uint64_t session, const struct metric_map *map);

/* The owner lets go; batches still shared stay valid. Accepts NULL. */
void batch_pool_free(struct batch_pool *pool);

/* An open batch stamped with the current time, one reference, or NULL without memory. */
struct tacho_batch *batch_new(struct batch_pool *pool);

/* ---- filling; see struct tacho_host -----------------------------------------------------------
 */

/* Texts are copied as UTF-8, with U+FFFD for bytes that are none. On one entity the first label of
 * a name stays, and the last value of a metric. What stands below a volatile entity is volatile.
 * The index that batch_entity returns holds until the batch is sealed. */
int32_t batch_entity(struct tacho_batch *batch, const char *kind, const char *key, int32_t parent,
                     uint32_t flags);
void batch_label(struct tacho_batch *batch, const char *name, const char *value);
void batch_f64(struct tacho_batch *batch, int32_t metric, double value);
void batch_i64(struct tacho_batch *batch, int32_t metric, int64_t value);
void batch_text(struct tacho_batch *batch, int32_t metric, const char *value);
void batch_flags(struct tacho_batch *batch, int32_t metric, uint64_t bits);
void batch_summary(struct tacho_batch *batch, int32_t metric, const struct tacho_summary *value);
void batch_absent(struct tacho_batch *batch, int32_t metric, int reason);
void batch_event(struct tacho_batch *batch, const char *type, int severity, const char *message);
void batch_mark(struct tacho_batch *batch, uint32_t flags);
void batch_stamp(struct tacho_batch *batch, int64_t wall_ns, int64_t duration_ns);
void batch_origin(struct tacho_batch *batch, const char *fleet, const char *host,
                  const char *source, uint64_t session, uint64_t seq);

/* Adds a value under its global metric id: for decoders and the core's own sources. Text and
 * summary are not copied: they must live in batch->texts. */
void batch_value(struct tacho_batch *batch, const struct tacho_value *value);

/* ---- sealing and sharing ----------------------------------------------------------------------
 */

/* Ends the filling: fixes the duration, numbers the batch (unless it came numbered), puts volatile
 * entities behind the stable ones, computes the schema. From here on the batch is constant. */
void batch_seal(struct tacho_batch *batch, uint64_t seq);

const struct tacho_batch *batch_ref(const struct tacho_batch *batch);
void batch_unref(const struct tacho_batch *batch);

/* Moves what one open batch holds into another, in place of what that held: entities, flags, stamp,
 * and the origin if it was given one. `from` is then only good to be discarded. Costs the same
 * whatever the size. */
void batch_move(struct tacho_batch *to, struct tacho_batch *from);

/* Gives an open batch back. */
void batch_discard(struct tacho_batch *batch);

/* ---- reading ----------------------------------------------------------------------------------
 */

void batch_info(const struct tacho_batch *batch, struct tacho_batch_info *out);
int batch_entity_at(const struct tacho_batch *batch, uint32_t index, struct tacho_entity *out);

/* Which of the batch's shapes a volatile entity has. */
uint32_t batch_shape_of(const struct tacho_batch *batch, uint32_t index);

/* The value of a metric on an entity, or NULL. */
const struct tacho_value *batch_find(const struct tacho_batch *batch, uint32_t entity,
                                     uint32_t metric_id);

/* "unsupported", "denied", …; and back, or 0. */
const char *batch_reason_name(int reason);
int batch_parse_reason(const char *text);
const char *batch_severity_name(int severity);

#endif
