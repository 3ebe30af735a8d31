// Placed blocks that reach the C library's own functions, past whoever stands in front of them: through pointers that were
// looked up in the library itself, as ctypes, JNA and .NET do. Nothing may be lost but that they are recycled.
// Argument: how often, if not three times.
//# once: who frees
//# build: -ldl
//# bare:
//# emulated: 1
//# run: --pages thp
//# emulated: 1
//# run: --pages thp --min-size 64K
//# emulated: 1
//# run: --pages thp --prefault
//# emulated: 1
//# run: --pages 4k
//# emulated: 1
//# run: --pages 64k
//# emulated: 1
//# run: --pages 2m
//# emulated: 1
#include "check.h"
#include <dlfcn.h>

enum { BYTES = 8 * 1024 * 1024 };

static void *aligned(size_t alignment)
{
    void *block = NULL;
    CHECK(posix_memalign(&block, alignment, BYTES) == 0 && (uintptr_t)block % alignment == 0);
    return block;
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3;
    void *library = dlopen("libc.so.6", RTLD_NOW);
    CHECK(library != NULL);
    void (*take)(void *) = (void (*)(void *))dlsym(library, "free");
    void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(library, "realloc");
    size_t (*usable)(void *) = (size_t (*)(void *))dlsym(library, "malloc_usable_size");
    CHECK(take != NULL && resize != NULL && usable != NULL);

    const size_t alignments[] = {16, 32, 64, 256, 2048, 4096, 8192, 65536, 1048576};
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
            char *before = aligned(alignments[i]), *block = aligned(alignments[i]), *after = aligned(alignments[i]);
            char *each[] = {before, block, after};
            for (int j = 0; j < 3; j++) {
                fill(each[j], BYTES, j);
                CHECK(malloc_usable_size(each[j]) >= BYTES && usable(each[j]) == malloc_usable_size(each[j]));
            }
            take(block);
            /* In its place may be something else by now, but nothing of the neighbours is gone. */
            CHECK(holds(before, BYTES, 0) && holds(after, BYTES, 2));
            char *larger = resize(before, 3 * BYTES);
            CHECK(larger != NULL && holds(larger, BYTES, 0));
            fill(larger, 3 * BYTES, 4);
            CHECK(holds(after, BYTES, 2));
            char *smaller = resize(after, MIB + 5);
            CHECK(smaller != NULL && holds(smaller, MIB + 5, 2));
            free(larger);
            free(smaller);
        }
    char *cleared = calloc(3, BYTES);
    CHECK(cleared != NULL && is_zero(cleared, 3 * (size_t)BYTES));
    take(cleared);
    take(NULL);
    return 0;
}
