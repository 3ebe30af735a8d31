// Blocks that grow in turn: what was moved by the kernel once is several mappings, and up to Linux 6.16 a move of several
// unmaps the target before it fails. Argument: how many steps at random, if not 200.
//# expect: stdout=grown
//# bare:
//# emulated: 50
//# run: --pages thp
//# emulated: 50
//# run: --pages thp --min-size 64K
//# emulated: 50
//# run: --pages thp --heap
//# emulated: 50
//# run: --pages thp --prefault
//# emulated: 50
//# run: --pages 64k
//# emulated: 50
//# run: --pages 2m
//# emulated: 50
//# run: --pages 4k
//# emulated: 50
#include "check.h"

static unsigned state = 7;
static unsigned next(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void in_turn(void)
{
    const size_t sizes[] = {8, 14, 24, 40};
    char *blocks[2] = {0};
    size_t held = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (unsigned j = 0; j < 2; j++) {
            blocks[j] = realloc(blocks[j], sizes[i] * MIB);
            CHECK(blocks[j] != NULL && holds(blocks[j], held, j));
            fill(blocks[j], sizes[i] * MIB, j);
        }
        held = sizes[i] * MIB;
    }
    for (unsigned j = 0; j < 2; j++) {
        CHECK(holds(blocks[j], held, j));
        free(blocks[j]);
    }
}

/* Most grow by a quarter, some shrink by half. */
static void at_random(int steps)
{
    enum { BLOCKS = 6, LARGEST = 28 };
    char *blocks[BLOCKS] = {0};
    size_t held[BLOCKS] = {0};
    for (int step = 0; step < steps; step++) {
        unsigned i = next(BLOCKS);
        size_t bytes = next(3) ? held[i] + held[i] / 4 + next(MIB) : held[i] / 2;
        if (bytes < MIB || bytes > LARGEST * MIB)
            bytes = MIB + 4096 * i;
        blocks[i] = realloc(blocks[i], bytes);
        CHECK(blocks[i] != NULL && holds(blocks[i], held[i] < bytes ? held[i] : bytes, i));
        fill(blocks[i], bytes, i);
        held[i] = bytes;
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

/* What the program has changed comes with the block, and not to the next owner. */
static void changed(void)
{
    char *block = aligned_alloc(4096, 8 * MIB), *other = malloc(MIB);
    fill(block, 8 * MIB, 3);
    CHECK(mprotect(block + MIB, 4096, PROT_READ) == 0);
    CHECK(mprotect(block + 3 * MIB, MIB, PROT_READ) == 0);
    block = realloc(block, 20 * MIB);
    CHECK(block != NULL && holds(block, 8 * MIB, 3));
    free(block);
    for (int i = 0; i < 2; i++) {
        block = filled_block(20 * MIB, i);
        free(block);
    }
    free(other);
}

int main(int count, char **arguments)
{
    in_turn();
    at_random(count > 1 ? atoi(arguments[1]) : 200);
    changed();
    puts("grown");
    return 0;
}
