// A gigabyte allocated, filled and freed twenty times: after the first round the pages are there already, also for a program that limited
// itself and lifted that before it had a block, and for one that asks for huge pages itself as NumPy does. Arguments: MiB instead of a gigabyte;
// which of these it does.
//# run: --pages thp
//# emulated: 64
//# expect: pages=2m>=95% where thp
//# expect: recycled>=18G where native
//# expect: recycled>=1152M
//# expect: complete=true
//# run: --pages thp -- 64 lifted
//# expect: recycled>=1152M
//# run: --pages thp -- 512 advised
//# emulated: 64 advised
//# expect: pages=2m>=95% where thp
//# expect: absent=lost-after-mprotect
//# expect: recycled>=1152M
//# run: --pages thp -- 64 forbidden
//# where: thp
//# exec: --pages 4k
//# emulated: 64
#include "check.h"
#include <sys/resource.h>

static long minor_faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

static void limit_and_lift(void)
{
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    struct rlimit limited = {.rlim_cur = 4 * GIB, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &limited) == 0 && setrlimit(RLIMIT_AS, &before) == 0);
}

static void advise(char *block, size_t bytes, int advice)
{
    size_t before = 4096 - (uintptr_t)block % 4096;
    CHECK(madvise(block + before, bytes - before, advice) == 0);
}

/* Where the program has forbidden huge pages before, its asking for them reaches the kernel. */
static void forbid_and_ask(size_t bytes)
{
    char *block = MADE(malloc(bytes));
    advise(block, bytes, MADV_NOHUGEPAGE);
    fill(block, bytes / 2, 1);
    CHECK(huge_bytes() <= HUGE_PAGE);
    advise(block, bytes, MADV_HUGEPAGE);
    fill(block + bytes / 2, bytes / 2, 2);
    CHECK(huge_bytes() >= bytes / 4);
    free(block);
}

int main(int count, char **arguments)
{
    const char *does = count > 2 ? arguments[2] : "";
    if (strcmp(does, "lifted") == 0)
        limit_and_lift();
    if (strcmp(does, "forbidden") == 0)
        forbid_and_ask(64 * MIB);
    size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) * MIB : GIB;
    long before = minor_faults(), first = 0;
    for (int round = 0; round < 20; round++) {
        char *block = malloc(bytes);
        CHECK(block != NULL);
        if (strcmp(does, "advised") == 0)
            advise(block, bytes, MADV_HUGEPAGE);
        for (size_t at = 0; at < bytes; at += 4096)
            block[at] = (char)(round + at / 4096);
        CHECK(block[bytes / 2] == (char)(round + bytes / 2 / 4096));
        free(block);
        if (round == 0)
            first = minor_faults() - before;
    }
    long all = minor_faults() - before;
    dprintf(1, "%ld faults in the first round, %ld in all\n", first, all);
    CHECK(all < first + first / 10 + 1000);
    return 0;
}
