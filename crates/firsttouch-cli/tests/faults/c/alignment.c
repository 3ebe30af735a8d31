// Every function that aligns, from 8 bytes to 4 MiB and beyond, for small and large blocks.
//# once: addresses
//# bare:
//# run: --pages thp
//# run: --pages thp --min-size 4K --prefault
//# run: --pages 4k
//# run: --pages auto
#include "check.h"
#include <dlfcn.h>

static void check(void *block, size_t alignment, size_t bytes)
{
    CHECK(block != NULL && (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= bytes);
    size_t usable = malloc_usable_size(block);
    fill(block, usable, 3);
    // Alignment ends where the block moves; contents do not.
    block = realloc(block, bytes + 3 * MIB);
    CHECK(block != NULL && holds(block, bytes, 3));
    free(block);
}

int main(void)
{
    const size_t sizes[] = {1, 24, 4096, 100000, MIB - 1, MIB, 3 * MIB + 1, 9 * MIB};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = sizes[i];
        for (size_t alignment = 8; alignment <= 4 * MIB; alignment *= 2) {
            void *block;
            check(memalign(alignment, bytes), alignment, bytes);
            check(aligned_alloc(alignment, bytes), alignment, bytes);
            CHECK(posix_memalign(&block, alignment, bytes) == 0);
            check(block, alignment, bytes);
        }
        check(valloc(bytes), 4096, bytes);
        check(pvalloc(bytes), 4096, (bytes + 4095) / 4096 * 4096);
    }
    // glibc rounds an odd alignment up; from 2.38 on not that of aligned_alloc, where it is an error.
    check(memalign(3000, 5 * MIB), 4096, 5 * MIB);
    void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    CHECK(library != NULL);
    void *(*own)(size_t, size_t) = (void *(*)(size_t, size_t))dlsym(library, "aligned_alloc");
    for (int i = 0; i < 2; i++) {
        size_t bytes = i == 0 ? 100 : 5 * MIB;
        errno = 0;
        void *expected = own(3000, bytes);
        int error = errno;
        errno = 0;
        void *block = aligned_alloc(3000, bytes);
        CHECK((block == NULL) == (expected == NULL) && errno == error);
        free(block);
        free(expected);
    }
    // Blocks between blocks, so that the place of each has to be searched for.
    void *blocks[64];
    for (int i = 0; i < 64; i++) {
        size_t alignment = (size_t)4096 << i % 11;
        blocks[i] = memalign(alignment, (1 + i % 5) * MIB + i);
        CHECK((uintptr_t)blocks[i] % alignment == 0);
        fill(blocks[i], (1 + i % 5) * MIB + i, i);
    }
    for (int i = 0; i < 64; i++) {
        CHECK(holds(blocks[i], (1 + i % 5) * MIB + i, i));
        free(blocks[i]);
    }
    // Rare, but part of the contract; only the first bytes are touched.
    for (size_t alignment = GIB; alignment <= 16 * GIB; alignment *= 2) {
        char *first = memalign(alignment, 2 * MIB), *second = memalign(alignment, 2 * MIB);
        CHECK(first == NULL || (uintptr_t)first % alignment == 0);
        CHECK(second == NULL || ((uintptr_t)second % alignment == 0 && second != first));
        free(first);
        free(second);
    }
    return 0;
}
