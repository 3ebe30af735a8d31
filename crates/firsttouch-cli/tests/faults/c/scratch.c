// A program whose blocks are touched little makes and frees the same small one again and again: it is held, although the kernel counts less
// than what is live. And one whose size goes up and down about the least that is placed is copied once, and not at every turn.
//# once: what is held
//# run: --pages 4k
//# expect: recycled>=15M
//# run: --pages thp
//# expect: recycled>=15M
//# run: --pages 4k --min-size 64K
//# expect: recycled>=15M
#include "check.h"

enum { ROUNDS = 20 };

int main(void)
{
    char *live = malloc(30 * MIB), *turning = malloc(MIB + 5000);
    CHECK(live != NULL && turning != NULL);
    *live = 1;
    fill(turning, MIB - 5000, 2);
    for (int round = 0; round < ROUNDS; round++) {
        char *scratch = malloc(MIB);
        CHECK(scratch != NULL);
        *scratch = 1;
        char *smaller = realloc(turning, MIB - 5000);
        CHECK(smaller == turning);
        turning = realloc(smaller, MIB + 5000);
        CHECK(turning == smaller && holds(turning, MIB - 5000, 2));
        free(scratch);
    }
    /* What has become much smaller is placed no more: its pages are others'. */
    turning = realloc(turning, 20000);
    CHECK(turning != NULL && holds(turning, 20000, 2));
    return 0;
}
