// Memory that the program changed is freed, and comes to serve again, after another process has limited the address space. The kernel
// maps nothing anew before what is reserved has been given up; then placing goes on.
//# once: what a limit allows
//# bare:
//# run: --pages thp
//# expect: absent=mapping-changed
//# run: --pages thp -- too-late
//# expect: absent=mapping-changed
//# run: --pages 4k
//# expect: absent=mapping-changed
//# exec: --pages auto
#include "limit.h"

enum { BYTES = 20 * 1024 * 1024 };

/* The middle of a block, on a boundary of huge pages. */
static void forbid_writing(char *block)
{
    CHECK(mprotect((char *)(((uintptr_t)block + 8 * MIB) & ~(2 * MIB - 1)), 64 * KIB, PROT_READ) == 0);
}

int main(int count, char **words)
{
    (void)words;
    char *changed = malloc(BYTES), *freed = malloc(BYTES), *kept = malloc(BYTES);
    CHECK(changed != NULL && freed != NULL && kept != NULL);
    fill(changed, BYTES, 1);
    fill(freed, BYTES, 2);
    fill(kept, BYTES, 3);
    if (count > 1) {
        /* It is free, and changed all the same: nobody notes that, and the kernel is asked before it serves again. (glibc would
         * have unmapped it.) */
        free(changed);
        forbid_writing(changed);
        limit_by_other(GIB);
    } else {
        forbid_writing(changed);
        limit_by_other(GIB);
        free(changed);
        free(freed);
    }
    for (int round = 0; round < 3; round++) {
        char *block = malloc(BYTES), *zeroed = calloc(1, BYTES);
        CHECK(block != NULL && zeroed != NULL);
        fill(block, BYTES, 4);
        for (size_t at = 0; at < BYTES; at += 4096)
            CHECK(zeroed[at] == 0);
        fill(zeroed, BYTES, 5);
        CHECK(holds(block, BYTES, 4) && holds(kept, BYTES, 3));
        free(block);
        free(zeroed);
    }
    return 0;
}
