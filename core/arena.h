/* SPDX-License-Identifier: MIT */
/*
 * Bump allocator: memory that dies together. A reset keeps the memory, joined into one chunk of the
 * largest need seen, so that a steady user allocates nothing after its first rounds. One thread at
 * a time.
 */
#ifndef TACHO_CORE_ARENA_H
#define TACHO_CORE_ARENA_H

#include <stddef.h>

struct arena_chunk {
    struct arena_chunk *next;
    size_t size; /* room in data */
    size_t used;
    char data[];
};

struct arena {
    struct arena_chunk *first; /* in order of filling */
    struct arena_chunk *last;
    size_t limit; /* most bytes in all chunks together */
    size_t total;
};

void arena_init(struct arena *arena, size_t limit_bytes);
void arena_fini(struct arena *arena);

/* Forgets everything allocated; keeps the room. */
void arena_reset(struct arena *arena);

/* Memory for `size` bytes, aligned to 16; NULL past the limit or without memory. Not zeroed. */
void *arena_alloc(struct arena *arena, size_t size);

/* Copies text with its NUL, without alignment: strings copied one after another lie one after
 * another within a chunk. NULL as above. */
char *arena_text(struct arena *arena, const char *text);
char *arena_text_of(struct arena *arena, const char *text, size_t length);

#endif
