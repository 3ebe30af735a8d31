// A block that grows under a limit takes room for what is added, and not for itself twice: glibc moves the mapping.
//# once: what a limit allows
//# expect: stdout=grown
//# bare:
//# run: --pages thp
//# run: --pages thp --prefault
//# run: --pages 4k
//# run: --pages 64k
//# run: --pages 2m
#include "check.h"
#include <sys/resource.h>

enum { OTHERS = 6 };

/* What is behind the block lives, so that it has to move. Without us this takes 62 MiB. */
static void grow(int resource, int is_late, size_t alignment)
{
    const size_t first = 15 * MIB, most = 50 * MIB;
    size_t bytes = first, other = 2 * MIB + 1000;
    struct rlimit limit = {80 * MIB, 80 * MIB};
    if (!is_late)
        CHECK(setrlimit(resource, &limit) == 0);
    char *block = alignment == 0 ? malloc(bytes) : aligned_alloc(alignment, bytes), *others[OTHERS];
    CHECK(block != NULL);
    fill(block, bytes, 1);
    if (is_late) {
        /* What is held for reuse counts, too. */
        char *before = filled_block(30 * MIB, 2);
        free(before);
        CHECK(setrlimit(resource, &limit) == 0);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = filled_block(other, 3 + i);
        size_t more = bytes + (most - first) / OTHERS - i * 1000;
        block = MADE(realloc(block, more));
        CHECK(holds(block, bytes, 1));
        bytes = more;
        fill(block, bytes, 1);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        CHECK(holds(others[i], other, 3 + i));
        free(others[i]);
    }
    free(block);
    block = calloc(1, most);
    CHECK(block != NULL && is_zero(block, most));
    free(block);
    new_mapping(most);
}

int main(void)
{
    const size_t alignments[] = {0, 4096, 64, 64 * KIB};
    for (int way = 0; way < 4; way++)
        IN_CHILD(way, grow(way & 1 ? RLIMIT_AS : RLIMIT_DATA, way & 2, alignments[way]));
    puts("grown");
    return 0;
}
