/* SPDX-License-Identifier: MIT */
/* The arena: alignment, growth, its limit, and that a reset joins what it has. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"
#include "tests/harness.h"

static void test_memory_is_aligned_and_apart(void)
{
    struct arena arena;
    char *last = NULL;
    arena_init(&arena, 1u << 20);
    for (size_t size = 0; size < 300; size++) {
        char *memory = arena_alloc(&arena, size);
        CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
        CU_ASSERT_EQUAL((uintptr_t)memory % 16, 0);
        memset(memory, (int)size, size);
        CU_ASSERT(!last || size < 2 || (unsigned char)*last == (unsigned char)(size - 1));
        last = memory;
        arena_text(&arena, "x");
    }
    arena_fini(&arena);
    CU_ASSERT_PTR_NULL(arena.first);
}

static void test_texts_lie_one_after_another(void)
{
    struct arena arena;
    arena_init(&arena, 1u << 20);
    const char *first = arena_text(&arena, "one");
    const char *second = arena_text(&arena, "");
    const char *third = arena_text_of(&arena, "threefold", 5);
    CU_ASSERT_STRING_EQUAL(third, "three");
    CU_ASSERT_PTR_EQUAL(second, first + 4);
    CU_ASSERT_PTR_EQUAL(third, second + 1);
    arena_fini(&arena);
}

static void fill(struct arena *arena)
{
    for (int i = 0; i < 1000; i++) {
        CU_ASSERT_PTR_NOT_NULL(arena_text(arena, "some text of a usual length"));
    }
}

static void test_reset_joins_chunks(void)
{
    struct arena arena;
    arena_init(&arena, 1u << 20);
    fill(&arena);
    CU_ASSERT_PTR_NOT_NULL(arena.first->next);
    arena_reset(&arena);
    CU_ASSERT_PTR_NOT_NULL_FATAL(arena.first);
    CU_ASSERT_PTR_NULL(arena.first->next);
    struct arena_chunk *chunk = arena.first;
    for (int i = 0; i < 3; i++) {
        fill(&arena);
        CU_ASSERT_PTR_EQUAL(arena.first, chunk);
        CU_ASSERT_PTR_NULL(arena.first->next);
        arena_reset(&arena);
    }
    arena_fini(&arena);
    arena_reset(&arena);
    CU_ASSERT_PTR_NULL(arena.first);
}

static void test_limit(void)
{
    struct arena arena;
    arena_init(&arena, 4096);
    CU_ASSERT_PTR_NULL(arena_alloc(&arena, 4097));
    CU_ASSERT_PTR_NULL(arena_alloc(&arena, SIZE_MAX));
    CU_ASSERT_PTR_NULL(arena_alloc(&arena, SIZE_MAX - 8));
    CU_ASSERT_PTR_NULL(arena_text_of(&arena, "", SIZE_MAX));
    unsigned count = 0;
    while (arena_alloc(&arena, 100)) {
        count++;
    }
    CU_ASSERT(count >= 30 && count <= 40);
    CU_ASSERT(arena.total <= 4096);
    arena_reset(&arena);
    CU_ASSERT_PTR_NOT_NULL(arena_alloc(&arena, 4000));
    arena_fini(&arena);
}

const struct test tests[] = {
    {"memory_is_aligned_and_apart", test_memory_is_aligned_and_apart},
    {"texts_lie_one_after_another", test_texts_lie_one_after_another},
    {"reset_joins_chunks", test_reset_joins_chunks},
    {"limit", test_limit},
    {NULL, NULL},
};
