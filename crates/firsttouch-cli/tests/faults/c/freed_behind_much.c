// More than its control group allows passes through placed blocks that the C library's own `free` unmaps, past us. They are not in use
// any more: what comes then is on huge pages. Argument: MiB on huge pages that it has at the end, at least.
//# requires: cgroup=128M
//# build: -ldl
//# run: --pages thp -- 54
//# where: thp
//# expect: absent=sparse-use
//# run: --pages thp --min-size 64K -- 54
//# where: thp
//# expect: absent=sparse-use
//# run: --pages thp --prefault -- 0
//# run: --pages 4k -- 0
//# run: --pages 64k --quiet -- 0
//# run: --pages 2m --quiet -- 0
#include "check.h"
#include <dlfcn.h>

enum { BYTES = 4 * 1024 * 1024, KEPT = 8 };

int main(int count, char **words)
{
    CHECK(count == 2);
    void *library = dlopen("libc.so.6", RTLD_NOW);
    CHECK(library != NULL);
    void (*take)(void *) = (void (*)(void *))dlsym(library, "free");
    CHECK(take != NULL);
    char *kept[KEPT];
    for (unsigned round = 0; round < 48; round++) {
        char *block = malloc(BYTES), *other = malloc(MIB + 5);
        CHECK(block != NULL && other != NULL);
        fill(block, BYTES, 1);
        // Some are ours to free, and some stay.
        take(block);
        if (round % 6 == 0 && round / 6 < KEPT) {
            kept[round / 6] = other;
            fill(other, MIB + 5, round);
        } else {
            free(other);
        }
    }
    char *block = filled_block(60 * MIB, 2);
    CHECK(huge_bytes() >= strtoul(words[1], NULL, 10) * MIB);
    for (unsigned index = 0; index < KEPT; index++) {
        CHECK(holds(kept[index], MIB + 5, 6 * index));
        free(kept[index]);
    }
    CHECK(holds(block, 60 * MIB, 2));
    free(block);
    return 0;
}
