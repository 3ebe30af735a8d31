// A program with an allocator of its own, in place of C's (as glibc's manual has it, "Replacing malloc"), which it brings whole: what
// glibc makes of those functions uses them, and nobody else's.
//# once: who allocates
//# bare:
//# exec:
//# inside: exec "$@"
//# run:
//# inside: exec "$@"
//# expect: shortfall=foreign-allocator
//# expect: complete=true
//# exec: --follow
//# inside: "$@"; exit $?
#include "check.h"

void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

enum { UNIT = 16, HEAP_BYTES = 64 << 20 };
static _Alignas(UNIT) char heap[HEAP_BYTES];
static size_t used;
/* Volatile: the headers of glibc 2.43 promise of free_sized that it calls nobody (`leaf`), and it calls free. */
static volatile size_t freed;

static void *take(size_t alignment, size_t bytes)
{
    if (alignment < UNIT)
        alignment = UNIT;
    size_t start = ((uintptr_t)heap + used + UNIT + alignment - 1) / alignment * alignment - (uintptr_t)heap;
    if (bytes > HEAP_BYTES || start > HEAP_BYTES - bytes) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(heap + start - UNIT, &bytes, sizeof bytes);
    used = start + bytes;
    return heap + start;
}

static int is_own(const void *block) { return (const char *)block >= heap && (const char *)block < heap + HEAP_BYTES; }

size_t malloc_usable_size(void *block)
{
    size_t bytes = 0;
    if (block != NULL)
        memcpy(&bytes, (char *)block - UNIT, sizeof bytes);
    return bytes;
}
void *malloc(size_t bytes) { return take(UNIT, bytes); }
void *calloc(size_t count, size_t bytes) { return take(UNIT, count * bytes); }
void *memalign(size_t alignment, size_t bytes) { return take(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes); }
void *valloc(size_t bytes) { return take(4096, bytes); }
void *pvalloc(size_t bytes) { return take(4096, bytes); }
int posix_memalign(void **block, size_t alignment, size_t bytes) { return (*block = take(alignment, bytes)) ? 0 : ENOMEM; }
void *realloc(void *block, size_t bytes)
{
    void *larger = take(UNIT, bytes);
    size_t old = malloc_usable_size(block);
    if (larger != NULL)
        memcpy(larger, block, old < bytes ? old : bytes);
    return larger;
}
void free(void *block)
{
    CHECK(block == NULL || is_own(block));
    freed++;
}

int main(void)
{
    char *block = filled_block(100, 1);
    for (size_t bytes = 200; bytes < 10 * MIB; bytes *= 10) {
        block = reallocarray(block, bytes / 10, 10);
        CHECK(is_own(block) && holds(block, 100, 1));
    }
    errno = 0;
    CHECK(reallocarray(block, SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
    freed = 0;
    if (free_sized != NULL)
        free_sized(block, 100);
    if (free_aligned_sized != NULL)
        free_aligned_sized(block, UNIT, 100);
    CHECK(freed == (size_t)(free_sized != NULL) + (free_aligned_sized != NULL));
    return 0;
}
