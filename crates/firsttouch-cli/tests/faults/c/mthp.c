// Multi-size pages: 64 KiB, where the machine allows them.
//# requires: root
//# requires: thp
//# requires: mthp64k=always
//# run: --pages 64k
//# expect: complete=true
//# expect: pages=64k>=90%
//# expect: placed>=64M
#include "check.h"

int main(void)
{
    char *block = filled_block(64 * MIB, 1);
    CHECK((block = realloc(block, 65 * MIB)) != NULL && holds(block, 64 * MIB, 1));
    fill(block, 65 * MIB, 1);
    // Not larger than asked.
    CHECK(huge_bytes() < 4 * MIB);
    return 0;
}
