// The contract of malloc(3) that has nothing to do with time: zero sizes, overflow, errno, usable sizes.
//# once: what the functions answer
//# bare:
//# run: --pages thp
//# run: --pages thp --min-size 4K
//# run: --pages 4k --min-size 64K --max-size 8M
//# run: --pages 2m
//# run: --pages auto --prefault
#include "check.h"

void free_sized(void *, size_t) __attribute__((weak));
void free_aligned_sized(void *, size_t, size_t) __attribute__((weak));

static const size_t SIZES[] = {1,           16,         100,          4095,          4096,    65536, 1048575, 1048576, 1048577,
                               2 * 1048576, 3 * 1048576 + 5, 8 * 1048576, 8 * 1048576 + 1, 33554432};
#define COUNT (sizeof SIZES / sizeof *SIZES)

static void zero_sizes(void)
{
    void *blocks[] = {malloc(0), calloc(0, 8), calloc(8, 0), realloc(NULL, 0), memalign(64, 0), aligned_alloc(64, 0), valloc(0)};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        CHECK(blocks[i] != NULL);
        for (size_t j = 0; j < i; j++)
            CHECK(blocks[i] != blocks[j]);
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        free(blocks[i]);
    void *none = NULL;
    CHECK(posix_memalign(&none, 64, 0) == 0);
    free(none);
    free(NULL);
    CHECK(malloc_usable_size(NULL) == 0);
    for (size_t i = 0; i < COUNT; i++) {
        void *block = MADE(malloc(SIZES[i]));
        errno = 77;
        CHECK(realloc(block, 0) == NULL && errno == 77);
    }
}

#define REFUSED(call)                                                                                                \
    do {                                                                                                             \
        errno = 0;                                                                                                   \
        CHECK((call) == NULL && errno == ENOMEM);                                                                    \
    } while (0)

static void impossible_sizes(void)
{
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 4096, SIZE_MAX / 2 + 1, (size_t)PTRDIFF_MAX + 1,
                            PTRDIFF_MAX, PTRDIFF_MAX - 4096, (size_t)1 << 60, (size_t)1 << 48};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = unknown(sizes[i]);
        REFUSED(malloc(bytes));
        REFUSED(calloc(1, bytes));
        REFUSED(calloc(bytes, 1));
        REFUSED(realloc(NULL, bytes));
        REFUSED(memalign(4096, bytes));
        REFUSED(memalign(HUGE_PAGE, bytes));
        REFUSED(aligned_alloc(64, bytes));
        REFUSED(valloc(bytes));
        REFUSED(pvalloc(bytes));
        for (size_t j = 0; j < COUNT; j += 3) {
            void *block = filled_block(SIZES[j], 9);
            REFUSED(realloc(block, bytes));
            REFUSED(reallocarray(block, bytes, 1));
            REFUSED(reallocarray(block, unknown(SIZE_MAX / 2), 3));
            CHECK(holds(block, SIZES[j], 9));
            free(block);
        }
    }
    REFUSED(calloc(unknown(SIZE_MAX / 2 + 1), 2));
    REFUSED(calloc(unknown((size_t)1 << 33), unknown((size_t)1 << 33)));
    // A product that wraps to a size that would be placed.
    REFUSED(calloc(unknown(((size_t)1 << 63) + (1 << 20)), 2));
    REFUSED(reallocarray(NULL, unknown(((size_t)1 << 63) + (1 << 20)), 2));
}

static void errno_is_kept(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        errno = 77;
        void *block = malloc(SIZES[i]);
        CHECK(errno == 77);
        block = realloc(block, SIZES[i] * 2);
        CHECK(errno == 77);
        block = realloc(block, SIZES[i]);
        CHECK(errno == 77 && malloc_usable_size(block) >= SIZES[i] && errno == 77);
        free(block);
        CHECK(errno == 77);
        block = calloc(SIZES[i], 1);
        CHECK(errno == 77);
        free(block);
        CHECK(errno == 77);
        block = aligned_alloc(4096, SIZES[i]);
        CHECK(block != NULL && errno == 77);
        free(block);
        CHECK(errno == 77);
    }
}

static void posix_memalign_leaves_alone(void)
{
    void *mark = &mark, *result = mark;
    const size_t bad[] = {0, 1, 2, 4, 3, 12, 24, 4095, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t j = 0; j < COUNT; j++) {
            errno = 77;
            CHECK(posix_memalign(&result, bad[i], SIZES[j]) == EINVAL && result == mark && errno == 77);
        }
    const size_t impossible[] = {SIZE_MAX, PTRDIFF_MAX, SIZE_MAX - 4096, (size_t)1 << 60};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++)
        for (size_t alignment = 8; alignment <= 4 * MIB; alignment *= 2)
            CHECK(posix_memalign(&result, alignment, unknown(impossible[i])) == ENOMEM && result == mark);
    for (size_t j = 0; j < COUNT; j++) {
        errno = 77;
        CHECK(posix_memalign(&result, 64, SIZES[j]) == 0 && errno == 77 && (uintptr_t)result % 64 == 0);
        free(result);
    }
}

static void usable_sizes(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        char *blocks[4];
        for (int j = 0; j < 4; j++) {
            blocks[j] = malloc(SIZES[i]);
            CHECK((uintptr_t)blocks[j] % 16 == 0);
            size_t usable = malloc_usable_size(blocks[j]);
            CHECK(usable >= SIZES[i]);
            fill(blocks[j], usable, 20 + j);
        }
        // The last byte of one block is not the first of the next.
        for (int j = 0; j < 4; j++)
            CHECK(holds(blocks[j], malloc_usable_size(blocks[j]), 20 + j));
        for (int j = 0; j < 4; j++)
            free(blocks[j]);
    }
}

static void sized_frees(void)
{
    if (free_sized && free_aligned_sized)
        for (size_t i = 0; i < COUNT; i++) {
            free_sized(malloc(SIZES[i]), SIZES[i]);
            free_aligned_sized(aligned_alloc(4096, SIZES[i]), 4096, SIZES[i]);
        }
}

int main(void)
{
    zero_sizes();
    impossible_sizes();
    errno_is_kept();
    posix_memalign_leaves_alone();
    usable_sizes();
    sized_frees();
    return 0;
}
