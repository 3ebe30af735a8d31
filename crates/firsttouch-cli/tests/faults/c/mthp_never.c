// Multi-size pages that the setting of their size switches off, whatever that of the machine is: the receipt says which one.
//# requires: root
//# requires: thp=madvise
//# requires: mthp64k=never
//# run: --pages 64k
//# expect: complete=true
//# expect: shortfall=thp-size-never>=60M
#include "check.h"

int main(void)
{
    char *block = filled_block(64 * MIB, 1);
    CHECK(holds(block, 64 * MIB, 1));
    free(block);
    return 0;
}
