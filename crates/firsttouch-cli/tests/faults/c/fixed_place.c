// A program at a fixed place that takes the addresses of C's functions: they are then those of jumps in the program, for everybody who
// looks them up. It has no allocator of its own for that.
//# once: who allocates
//# requires: cc -no-pie
//# build: -fno-pie
//# run: --pages thp
//# expect: placed>=20M
//# expect: absent=foreign-allocator
#include "check.h"
#include <dlfcn.h>

int main(void)
{
    void *(*volatile allocate)(size_t) = malloc;
    void *(*volatile resize)(void *, size_t) = realloc;
    void (*volatile release)(void *) = free;
    CHECK(dlsym(RTLD_DEFAULT, "malloc") == (void *)allocate);
    char *block = allocate(10 * MIB);
    fill(block, 10 * MIB, 1);
    block = resize(block, 20 * MIB);
    CHECK(holds(block, 10 * MIB, 1));
    block = reallocarray(block, 30, MIB);
    CHECK(holds(block, 10 * MIB, 1));
    release(block);
    return 0;
}
