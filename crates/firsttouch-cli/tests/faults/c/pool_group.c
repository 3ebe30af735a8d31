// A control group that may have 4 MiB of reserved pages, of which the machine has more: blocks beyond that have other pages, with the
// reason, and nobody dies of SIGBUS. Older kernels than 5.14 cannot create a page without touching it: there pools are left alone.
//# requires: pool2m=16
//# requires: cgroup2m=4M
//# once: pages of a pool
//# run: --pages 2m
//# expect: pool>=4M where linux>=5.14
//# expect: shortfall=cgroup-limit>=8M where linux>=5.14
//# run: --pages auto
//# expect: pool>=4M where linux>=5.14
//# exec: --pages 2m --prefault
#include "check.h"

int main(void)
{
    char *blocks[5];
    for (int i = 0; i < 5; i++)
        blocks[i] = filled_block(2 * MIB - 4096, i);
    filled_block(8 * MIB, 7);
    for (int i = 0; i < 5; i++)
        CHECK(holds(blocks[i], 2 * MIB - 4096, i));
    return 0;
}
