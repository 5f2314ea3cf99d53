/* SPDX-License-Identifier: MIT */
/* Bump allocator; see arena.h. Chunks double, so the number of chunks before a reset joins them
 * stays small. */
#include "core/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CHUNK = 1024, ALIGNMENT = 16 };

void arena_init(struct arena *arena, size_t limit_bytes)
{
    *arena = (struct arena){.limit = limit_bytes};
}

static void free_chunks(struct arena_chunk *chunk)
{
    while (chunk) {
        struct arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void arena_fini(struct arena *arena)
{
    free_chunks(arena->first);
    *arena = (struct arena){.limit = arena->limit};
}

/* Appends a chunk with room for at least `size`. */
static struct arena_chunk *grow(struct arena *arena, size_t size)
{
    size_t room = arena->total > FIRST_CHUNK ? arena->total : FIRST_CHUNK;
    if (room < size) {
        room = size;
    }
    if (room > arena->limit - arena->total) {
        room = arena->limit - arena->total;
    }
    if (room < size) {
        return NULL;
    }
    struct arena_chunk *chunk = malloc(sizeof *chunk + room);
    if (!chunk) {
        return NULL;
    }
    *chunk = (struct arena_chunk){.size = room};
    if (arena->last) {
        arena->last->next = chunk;
    } else {
        arena->first = chunk;
    }
    arena->last = chunk;
    arena->total += room;
    return chunk;
}

void arena_reset(struct arena *arena)
{
    if (arena->first && arena->first->next) {
        size_t total = arena->total;
        arena_fini(arena);
        grow(arena, total);
    } else if (arena->first) {
        arena->first->used = 0;
    }
}

void *arena_alloc(struct arena *arena, size_t size)
{
    struct arena_chunk *chunk = arena->last;
    size_t pad = 0;
    if (chunk) {
        pad = (size_t)(-(uintptr_t)(chunk->data + chunk->used) & (ALIGNMENT - 1));
    }
    if (!chunk || size > chunk->size || chunk->used + pad > chunk->size - size) {
        if (size > SIZE_MAX - ALIGNMENT || !(chunk = grow(arena, size + ALIGNMENT))) {
            return NULL;
        }
        pad = (size_t)(-(uintptr_t)chunk->data & (ALIGNMENT - 1));
    }
    char *memory = chunk->data + chunk->used + pad;
    chunk->used += pad + size;
    return memory;
}

char *arena_text_of(struct arena *arena, const char *text, size_t length)
{
    struct arena_chunk *chunk = arena->last;
    if (!chunk || length >= chunk->size - chunk->used) {
        if (length == SIZE_MAX || !(chunk = grow(arena, length + 1))) {
            return NULL;
        }
    }
    char *copy = chunk->data + chunk->used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    chunk->used += length + 1;
    return copy;
}

char *arena_text(struct arena *arena, const char *text)
{
    return arena_text_of(arena, text, strlen(text));
}
