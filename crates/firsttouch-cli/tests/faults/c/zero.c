// Blocks above 32 MiB, which glibc always maps anew: a program that takes their zeroes for granted has them with --zero.
// Arguments: MiB of a block, and how often, if not twice.
//# expect: stdout=zeroes
//# bare: 64
//# emulated: 34 1
//# run: --pages thp --zero -- 64
//# emulated: 34 1
//# expect: recycled>=34M
//# run: --pages 4k --zero -- 64
//# emulated: 34 1
//# run: --pages 2m --zero -- 64
//# emulated: 34 1
//# run: --pages 64k --zero --min-size 64K -- 64
//# emulated: 34 1
#include "check.h"

static void expect_zeroes(const unsigned char *block, size_t from, size_t to)
{
    CHECK(block != NULL && is_zero(block + from, to - from));
}

/* Memory that held something is free now, behind a block and elsewhere. */
static void leave_dirt(size_t bytes)
{
    unsigned char *dirty = MADE(malloc(unknown(3 * bytes)));
    memset(dirty, 0xdd, 3 * bytes);
    free(dirty);
}

int main(int count, char **arguments)
{
    CHECK(count >= 2);
    size_t bytes = strtoul(arguments[1], NULL, 10) * MIB;
    int rounds = count > 2 ? atoi(arguments[2]) : 2;
    for (int round = 0; round < rounds; round++) {
        leave_dirt(bytes);
        unsigned char *block = malloc(unknown(bytes));
        expect_zeroes(block, 0, bytes);
        memset(block, 1, bytes);
        /* Where it is, and, with another one behind it, elsewhere. */
        block = realloc(block, unknown(bytes + 5 * MIB));
        expect_zeroes(block, bytes + 4096, bytes + 5 * MIB);
        unsigned char *behind = malloc(unknown(bytes));
        expect_zeroes(behind, 0, bytes);
        memset(block, 2, bytes + 5 * MIB);
        leave_dirt(bytes);
        block = realloc(block, unknown(2 * bytes));
        expect_zeroes(block, bytes + 5 * MIB + 4096, 2 * bytes);
        free(block);
        free(behind);
    }
    puts("zeroes");
    return 0;
}
