// A program whose blocks are touched little makes and frees the same one again and again: what it touched is held, although the kernel
// counts less than what is live, and the kernel creates nothing anew; of a large block, whose huge pages are few of many, no more than these.
// And a block whose size goes up and down about the least that is
// placed is copied once, and not at every turn.
//# once: what is held
//# run: --pages 4k
//# expect: recycled>=15M
//# run: --pages thp
//# expect: recycled>=15M
//# run: --pages 4k --min-size 64K
//# expect: recycled>=15M
//# run: --pages thp -- huge
//# where: thp
//# expect: recycled>=50M
#include "check.h"
#include <sys/resource.h>

enum { ROUNDS = 20 };

static long faults(void)
{
    struct rusage use;
    CHECK(getrusage(RUSAGE_SELF, &use) == 0);
    return use.ru_minflt;
}

/* Of each the page at `place` is touched, and the first, by whoever places it. */
static void make_and_free(size_t bytes, size_t place)
{
    long before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char *scratch = MADE(malloc(bytes));
        scratch[place] = 1;
        free(scratch);
        if (round == 0)
            before = faults();
    }
    CHECK(faults() - before < ROUNDS / 2);
}

/* Down to the half it stays where it is. */
static void go_up_and_down(void)
{
    char *turning = MADE(malloc(MIB + 5000));
    fill(turning, MIB - 5000, 2);
    for (int round = 0; round < ROUNDS; round++) {
        char *smaller = realloc(turning, MIB - 5000);
        CHECK(smaller == turning);
        turning = realloc(smaller, MIB + 5000);
        CHECK(turning == smaller && holds(turning, MIB - 5000, 2));
    }
    turning = realloc(turning, 20000);
    CHECK(turning != NULL && holds(turning, 20000, 2));
    free(turning);
}

/* Two huge pages of each are there. */
static void make_and_free_huge(void)
{
    make_and_free(20 * MIB, 10 * MIB);
    CHECK(huge_bytes() <= 3 * HUGE_PAGE);
    char *clear = MADE(calloc(20, MIB));
    CHECK(is_zero(clear, 20 * MIB));
    free(clear);
}

int main(int count, char **words)
{
    (void)words;
    if (count > 1) {
        make_and_free_huge();
        return 0;
    }
    make_and_free(20 * MIB, 0);
    char *live = MADE(malloc(30 * MIB));
    *live = 1;
    make_and_free(MIB, 0);
    go_up_and_down();
    return 0;
}
