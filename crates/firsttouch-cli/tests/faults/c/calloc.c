// calloc gives zeroes, also where a freed block left its contents, whole or in patches. Argument: how often, if not four times.
//# bare:
//# emulated: 2
//# run: --pages thp
//# emulated: 2
//# expect: recycled>=160M
//# run: --pages thp --min-size 4K
//# emulated: 2
//# run: --pages 4k
//# emulated: 2
//# run: --pages 2m --prefault
//# emulated: 2
//# run: --pages auto
//# emulated: 2
#include "check.h"

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 4;
    const size_t sizes[] = {100, 5000, 100000, MIB, MIB + 17, 2 * MIB, 5 * MIB, 16 * MIB + 3};
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            char *dirty = malloc(sizes[i] * 2);
            memset(dirty, 0xff, malloc_usable_size(dirty));
            free(dirty);
            char *clean = calloc(sizes[i], 2);
            CHECK(clean != NULL && is_zero(clean, sizes[i] * 2));
            memset(clean, 0xee, malloc_usable_size(clean));
            // Grown in place or not: what is behind the block may be anything, so only what was asked is looked at.
            clean = realloc(clean, sizes[i] / 2 + 1);
            free(clean);
        }
    // Twenty dirty patches with clean memory between.
    char *patches[40];
    for (int i = 0; i < 40; i++)
        patches[i] = malloc(MIB + 4096 * i);
    for (int i = 0; i < 40; i += 2)
        memset(patches[i], 0xff, MIB + 4096 * i);
    for (int i = 0; i < 40; i++)
        free(patches[i]);
    char *whole = calloc(40, MIB);
    CHECK(whole != NULL && is_zero(whole, 40 * MIB));
    // A block that was moved away by realloc leaves dirty edges and fresh middles.
    memset(whole, 0xff, 40 * MIB);
    char *behind = malloc(MIB);
    whole = MADE(realloc(whole, 56 * MIB));
    char *again = calloc(1, 39 * MIB);
    CHECK(again != NULL && is_zero(again, 39 * MIB));
    free(again);
    free(behind);
    free(whole);
    return 0;
}
