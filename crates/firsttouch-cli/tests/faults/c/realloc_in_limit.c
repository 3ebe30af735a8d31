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
        char *before = malloc(30 * MIB);
        fill(before, 30 * MIB, 2);
        free(before);
        CHECK(setrlimit(resource, &limit) == 0);
    }
    for (size_t i = 0; i < OTHERS; i++) {
        others[i] = malloc(other);
        CHECK(others[i] != NULL);
        fill(others[i], other, 3 + i);
        size_t more = bytes + (most - first) / OTHERS - i * 1000;
        block = realloc(block, more);
        CHECK(block != NULL);
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
    char *mapped = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
}

int main(void)
{
    const size_t alignments[] = {0, 4096, 64, 64 * KIB};
    for (int way = 0; way < 4; way++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            grow(way & 1 ? RLIMIT_AS : RLIMIT_DATA, way & 2, alignments[way]);
            _exit(0);
        }
        int end = end_of(child);
        if (end != 0)
            dprintf(2, "way %d\n", way);
        CHECK(end == 0);
    }
    puts("grown");
    return 0;
}
