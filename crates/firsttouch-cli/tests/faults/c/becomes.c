// A program that becomes another one again and again is supervised from outside for as long as it runs: whoever looks at it just as it
// changes sees no memory. The last one has some, and goes on until that is on huge pages.
//# requires: thp=madvise
//# exec: --via supervise -- 300
//# where: linux>=6.1
//# emulated: 30
//# expect: stderr=nothing
#include "check.h"

int main(int count, char **words)
{
    CHECK(count == 2);
    int left = atoi(words[1]);
    if (left > 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", left - 1);
        execl("/proc/self/exe", words[0], number, (char *)NULL);
        CHECK(!"execl");
    }
    char *block = filled_block(64 * MIB, 1);
    for (double limit_s = now_s() + LIMIT_S; huge_bytes() < 48 * MIB; usleep(1000))
        CHECK(now_s() < limit_s);
    CHECK(holds(block, 64 * MIB, 1));
    free(block);
    return 0;
}
