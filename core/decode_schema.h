/* SPDX-License-Identifier: MIT */
/* Inside the decoder: a schema as it is kept to read rows with. */
#ifndef TACHO_CORE_DECODE_SCHEMA_H
#define TACHO_CORE_DECODE_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/plugin.h"
#include "core/unpack.h"

struct schema_column {
    uint32_t metric; /* global id */
    bool flags;      /* its whole numbers are sets of flags */
};

/* A stable entity, or (key NULL, no labels) a shape of volatile ones. */
struct schema_entity {
    const char *kind, *key;
    int32_t parent;
    uint32_t label_count, column_count;
    struct tacho_label *labels;
    struct schema_column *columns;
};

struct schema {
    uint64_t id;
    uint64_t used; /* when, on the decoder's own clock */
    const char *fleet, *host, *source;
    struct schema_entity *entities, *shapes;
    uint32_t entity_count, shape_count;
    struct arena arena; /* holds everything above */
};

/* A new schema from its bytes, or NULL and a sentence. Its metrics are registered. */
struct schema *schema_new(const void *data, size_t length, struct tacho_err *err);
void schema_free(struct schema *schema);

#endif
