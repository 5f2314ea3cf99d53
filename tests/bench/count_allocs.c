/* SPDX-License-Identifier: MIT */
/*
 * Counts the heap allocations of a program that it is preloaded into: a 64-bit number in the file
 * that TACHO_COUNT_FILE names, to be read while the program runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_uint_least64_t before_start;
static atomic_uint_least64_t *count = &before_start;

__attribute__((constructor)) static void map_count(void)
{
    const char *path = getenv("TACHO_COUNT_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && ftruncate(fd, sizeof *count) == 0) {
        void *map = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            count = map;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static void one_more(void)
{
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
    one_more();
    return __libc_malloc(size);
}

__attribute__((visibility("default"))) void *calloc(size_t items, size_t size)
{
    one_more();
    return __libc_calloc(items, size);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t size)
{
    one_more();
    return __libc_realloc(old, size);
}

__attribute__((visibility("default"))) void *memalign(size_t alignment, size_t size)
{
    one_more();
    return __libc_memalign(alignment, size);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

__attribute__((visibility("default"))) int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
