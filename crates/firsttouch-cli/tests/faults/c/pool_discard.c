// Parts of blocks on reserved pages that the program discards (MADV_DONTNEED): it finds zeroes there, as in ordinary memory, and all
// else as it was. The kernel discards whole pages only.
//# once: reserved pages
//# requires: pool2m=32
//# bare:
//# run: --pages 2m
//# expect: complete=true
//# expect: pool>=8M where linux>=6.7
//# exec: --pages 4k
//# exec: --pages auto
#include "check.h"
#include <sys/syscall.h>

static void discard(char *block, size_t bytes, size_t from, size_t length)
{
    size_t until = from + (length + 4095) / 4096 * 4096;
    memset(block, 7, bytes);
    CHECK(madvise(block + from, length, MADV_DONTNEED) == 0);
    CHECK(is_all(block, from, 7) && is_zero(block + from, until - from) && is_all(block + until, bytes - until, 7));
    memset(block, 8, bytes);
    CHECK(is_all(block, bytes, 8));
}

static void discard_parts(char *block, size_t bytes)
{
    discard(block, bytes, 0, bytes);
    discard(block, bytes, 4096, 4096);
    discard(block, bytes, 0, 1);
    discard(block, bytes, 3 * MIB + 4096, 2 * MIB);
    /* From the beginning of a huge page. */
    size_t begin = HUGE_PAGE - (uintptr_t)block % HUGE_PAGE;
    discard(block, bytes, begin, 100 * KIB);
    discard(block, bytes, begin, HUGE_PAGE);
}

int main(void)
{
    const size_t bytes = 8 * MIB;
    char *block = MADE(aligned_alloc(4096, bytes));
    discard_parts(block, bytes);
    errno = 0;
    CHECK(madvise(block + 1, 4096, MADV_DONTNEED) == -1 && errno == EINVAL);
    CHECK(madvise(block + 4096, 0, MADV_DONTNEED) == 0 && is_all(block, bytes, 8));
    CHECK(madvise(block + 4096, MIB, MADV_FREE) == 0);
    memset(block, 8, bytes);
    /* By its number: what the kernel answers is its own matter there. */
    syscall(SYS_madvise, block + 4096, MIB, MADV_DONTNEED);
    CHECK(is_zero(block + 4096, MIB) && is_all(block + 4096 + MIB, bytes - 4096 - MIB, 8));
    IN_CHILD(0, discard_parts(block, bytes));
    /* As NumPy gives it: the kernel says of ordinary memory that it is done. */
    CHECK(madvise(block, bytes, MADV_HUGEPAGE) == 0);
    discard_parts(block, bytes);
    free(block);
    return 0;
}
