// Where the kernel counts what is mapped as if it were used (vm.overcommit_memory 2), what was freed can be had again: by small blocks, by a
// fork, by a block that grows.
//# once: what is counted
//# requires: overcommit=2
//# bare:
//# run: --pages thp
//# expect: complete=true
//# run: --pages 4k
//# exec: --pages auto
#include "check.h"

/* What may still be mapped. */
static size_t room(void)
{
    return proc_bytes("/proc/meminfo", "CommitLimit:") - proc_bytes("/proc/meminfo", "Committed_AS:");
}

static void make_and_free(size_t bytes)
{
    char *block = MADE(malloc(bytes));
    touch(block, bytes);
    free(block);
}

int main(void)
{
    const size_t part = room() / 10;
    make_and_free(7 * part);
    IN_CHILD(0, make_and_free(7 * part));

    char *block = MADE(malloc(4 * part));
    touch(block, 4 * part);
    block = realloc(block, 7 * part);
    CHECK(block != NULL && block[0] == 1);
    free(block);

    const size_t small = 60000;
    for (size_t got = 0; got < 6 * part; got += small) {
        char *one = MADE(malloc(small));
        one[0] = 1;
    }
    return 0;
}
