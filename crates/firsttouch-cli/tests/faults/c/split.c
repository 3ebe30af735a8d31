// Pages that were huge and are not any more: the receipt says who split them, and not that the kernel had none.
//# run: -- protects
//# expect: shortfall=lost-after-mprotect>=50M where thp
//# expect: absent=no-contiguous-memory where thp
//# run: -- advises
//# expect: shortfall=lost-after-mprotect>=50M where thp
//# expect: absent=no-contiguous-memory where thp
//# run: -- discards
//# expect: shortfall=split>=32M where thp
//# run: -- forked-before
//# expect: shortfall=split>=32M where thp
//# expect: absent=lost-after-fork
//# run: -- forked
//# expect: shortfall=lost-after-fork>=32M where thp
//# run: -- forked-other
//# where: linux>=6.7
//# expect: shortfall=split>=50M where thp
//# expect: absent=lost-after-fork
//# run: -- protected-whole
//# where: linux>=6.7
//# expect: shortfall=split>=50M where thp
//# expect: absent=lost-after-mprotect
//# run: -- freed
//# expect: pages=2m>=90% where thp
//# expect: absent=split
//# run: -- freed-twice
//# expect: pages=2m>=90% where thp
//# expect: absent=split
//# run: -- cold
//# expect: shortfall=split>=32M where thp
//# expect: absent=lost-after-fork
//# run: -- paged-out
//# expect: pages=2m>=90% where thp
//# expect: absent=split
//# run: --pages 4k -- discards
//# expect: absent=split
#include "check.h"

static const size_t bytes = 64 * MIB;

static unsigned char *block_of(unsigned char value)
{
    unsigned char *block = MADE(aligned_alloc(HUGE_PAGE, bytes));
    memset(block, value, bytes);
    return block;
}

/* Splits every huge page of a block. */
static void discard_parts(unsigned char *block, int advice)
{
    for (size_t at = HUGE_PAGE / 2; at < bytes; at += HUGE_PAGE)
        CHECK(madvise(block + at, 4 * KIB, advice) == 0);
}

/* A block that was split is freed: what comes there next is on huge pages again. */
static int serve_again(int advice)
{
    unsigned char *block = block_of(1);
    const size_t whole = huge_bytes();
    discard_parts(block, advice);
    CHECK(whole < bytes || huge_bytes() + bytes <= whole + HUGE_PAGE);
    free(block);
    block = block_of(2);
    CHECK(huge_bytes() + HUGE_PAGE >= whole);
    CHECK(is_all(block, bytes, 2));
    return 0;
}

int main(int count, char **words)
{
    const size_t page = 4 * KIB;
    CHECK(count == 2);
    if (!strcmp(words[1], "freed")) return serve_again(MADV_DONTNEED);
    if (!strcmp(words[1], "freed-twice")) return serve_again(MADV_DONTNEED) || serve_again(MADV_FREE);
    if (!strcmp(words[1], "forked-before")) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        CHECK(waitpid(child, NULL, 0) == child);
    }
    if (!strcmp(words[1], "paged-out")) return serve_again(MADV_PAGEOUT) || serve_again(MADV_COLD);
    unsigned char *block = block_of(1);
    if (!strcmp(words[1], "forked-other") || !strcmp(words[1], "cold")) {
        /* What there was at the fork stays as it is, and is not what is split. */
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        CHECK(waitpid(child, NULL, 0) == child);
        if (strcmp(words[1], "cold")) block = block_of(1);
    }
    if (!strcmp(words[1], "protected-whole")) {
        /* Whole huge pages of it: the kernel splits none. */
        CHECK(mprotect(block, bytes, PROT_READ) == 0);
        CHECK(mprotect(block, bytes, PROT_READ | PROT_WRITE) == 0);
    }
    if (!strcmp(words[1], "forked")) {
        /* Written while the child has the pages, too. */
        int ends[2];
        char none;
        CHECK(pipe(ends) == 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            close(ends[1]);
            _exit(read(ends[0], &none, 1) == 0 ? 0 : 1);
        }
        memset(block, 2, bytes);
        close(ends[0]);
        close(ends[1]);
        CHECK(waitpid(child, NULL, 0) == child);
    }
    for (size_t at = HUGE_PAGE / 2; at < bytes; at += HUGE_PAGE) {
        if (!strcmp(words[1], "protects")) CHECK(mprotect(block + at, page, PROT_READ) == 0);
        if (!strcmp(words[1], "advises")) CHECK(madvise(block + at, page, MADV_NOHUGEPAGE) == 0);
        if (strcmp(words[1], "protects") && strcmp(words[1], "advises") && strcmp(words[1], "forked"))
            CHECK(madvise(block + at, page, strcmp(words[1], "cold") ? MADV_DONTNEED : MADV_COLD) == 0);
    }
    return 0;
}
