// A block of which little is used grows to more than the machine has: the kernel judges what a mapping adds (vm.overcommit_memory 0),
// and glibc adds no more than the block grows by. Something lives behind it, so that it moves, the second time with more than there is.
//# requires: overcommit=0
//# bare:
//# run: --pages thp
//# run: --pages 4k
//# run: --pages 64k
//# exec: --pages auto
#include "check.h"
#include <sys/sysinfo.h>

enum { PLACES = 8 };

static void mark(char *block, size_t bytes)
{
    for (size_t i = 0; i < PLACES; i++)
        block[bytes / PLACES * i] = (char)(i + 1);
}

static int is_marked(const char *block, size_t bytes)
{
    for (size_t i = 0; i < PLACES; i++)
        if (block[bytes / PLACES * i] != (char)(i + 1))
            return 0;
    return 1;
}

static char *grown(char *block, size_t before, size_t bytes)
{
    char *behind = MADE(malloc(4 * MIB));
    *behind = 1;
    block = realloc(block, bytes);
    CHECK(block != NULL && is_marked(block, before));
    return block;
}

int main(void)
{
    struct sysinfo about;
    CHECK(sysinfo(&about) == 0);
    const size_t memory = (about.totalram + about.totalswap) * about.mem_unit / MIB * MIB;
    const size_t first = memory / 4, second = memory + memory / 8, third = second + memory / 2;
    char *block = MADE(malloc(first));
    mark(block, first);
    block = grown(block, first, second);
    block = grown(block, first, third);
    /* What it would grow by is more than there is: refused, as without us, and the block is as it was. */
    errno = 0;
    CHECK(realloc(block, third + memory + memory / 4) == NULL && errno == ENOMEM);
    CHECK(is_marked(block, first));
    block[third - 1] = 1;
    free(block);
    return 0;
}
