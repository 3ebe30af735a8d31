// A process that has all the mappings it may have (vm.max_map_count): what we cannot make anew is not handed out again, and
// nobody dies of it.
//# once: mappings
//# bare:
//# run: --pages thp
//# run: --pages 4k
//# run: --pages thp --min-size 64K
#include "check.h"

enum { BYTES = 8 * 1024 * 1024, MOST = 1 << 20 };

int main(void)
{
    char *changed[4], *kept = malloc(BYTES);
    fill(kept, BYTES, 9);
    for (int i = 0; i < 4; i++) {
        changed[i] = MADE(aligned_alloc(4096, BYTES));
        fill(changed[i], BYTES, i);
        /* Two pages of another kind: to make one mapping of it again would take none, to replace it does. */
        CHECK(mprotect(changed[i] + 4096, 4096, PROT_READ) == 0);
    }
    /* Every other page cannot become one mapping with its neighbours. */
    size_t count = 0;
    char *area = mmap(NULL, (size_t)MOST * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(area != MAP_FAILED);
    while (count < MOST && mprotect(area + count * 4096, 4096, count % 2 ? PROT_READ : PROT_WRITE) == 0)
        count++;
    for (int i = 0; i < 4; i++)
        free(changed[i]);
    for (int round = 0; round < 8; round++) {
        char *block = malloc(BYTES - 4096);
        if (block != NULL) {
            fill(block, BYTES - 4096, round);
            CHECK(holds(block, BYTES - 4096, round));
        }
        free(block);
    }
    CHECK(holds(kept, BYTES, 9));
    kept = realloc(kept, 2 * BYTES);
    CHECK(kept == NULL || holds(kept, BYTES, 9));
    CHECK(munmap(area, (size_t)MOST * 4096) == 0);
    char *block = filled_block(BYTES, 1);
    free(block);
    return 0;
}
