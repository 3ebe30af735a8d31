// A gigabyte allocated, filled and freed twenty times: after the first round the pages are there already.
//# requires: thp
//# run: --pages thp
//# expect: pages=2m>=95%
//# expect: recycled>=18G
//# expect: complete=true
//# exec: --pages 4k
#include "check.h"
#include <sys/resource.h>

static long minor_faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

int main(void)
{
    long before = minor_faults(), first = 0;
    for (int round = 0; round < 20; round++) {
        char *block = malloc(GIB);
        CHECK(block != NULL);
        for (size_t at = 0; at < GIB; at += 64)
            block[at] = (char)(round + at / 4096);
        CHECK(block[GIB / 2] == (char)(round + GIB / 2 / 4096));
        free(block);
        if (round == 0)
            first = minor_faults() - before;
    }
    long all = minor_faults() - before;
    dprintf(1, "%ld faults in the first round, %ld in all\n", first, all);
    CHECK(all < first + first / 10 + 1000);
    return 0;
}
