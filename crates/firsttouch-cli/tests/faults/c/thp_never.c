// Transparent huge pages switched off for the whole machine: the program is fine, and the receipt says why.
//# requires: thp=never
//# requires: pool2m=0
//# bare:
//# run: --pages thp
//# expect: complete=true
//# expect: shortfall=thp-never>=60M
//# run: --pages auto --prefault
//# expect: shortfall=thp-never>=60M
//# exec: --pages thp
#include "check.h"

int main(void)
{
    char *block = calloc(1, 64 * MIB);
    CHECK(block != NULL && is_zero(block, 64 * MIB));
    fill(block, 64 * MIB, 1);
    CHECK((block = realloc(block, 100 * MIB)) != NULL && holds(block, 64 * MIB, 1));
    fill(block, 100 * MIB, 2);
    free(block);
    return 0;
}
