// PR_SET_THP_DISABLE, set by whoever started firsttouch, is inherited: the kernel takes the advice and does nothing.
//# requires: thp
//# run: --pages thp
//# outside: exec "$PROGRAM" launch "$@"
//# expect: complete=true
//# expect: shortfall=thp-disabled-by-prctl>=60M
//# run: --pages thp
//# expect: pages=2m>=90%
//# expect: shortfall=nothing
//# run: --via supervise -- itself 500
//# where: linux>=6.1
//# emulated: itself 10
//# expect: stderr~thp-disabled-by-prctl
//# run: --via supervise --quiet -- itself 500
//# where: linux>=6.1
//# emulated: itself 10
//# expect: stderr=nothing
#include "check.h"
#include <sys/prctl.h>

int main(int count, char **arguments)
{
    if (count > 2 && strcmp(arguments[1], "launch") == 0) {
        CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
        execv(arguments[2], arguments + 2);
        CHECK(!"execv");
    }
    int rounds = 1;
    /* As Ruby does; and then it works for as long as it takes to be looked at. */
    if (count > 2 && strcmp(arguments[1], "itself") == 0) {
        CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
        rounds = atoi(arguments[2]);
    }
    char *block = MADE(malloc(64 * MIB));
    while (rounds-- > 0)
        fill(block, 64 * MIB, 1);
    CHECK(holds(block, 64 * MIB, 1));
    free(block);
    return 0;
}
