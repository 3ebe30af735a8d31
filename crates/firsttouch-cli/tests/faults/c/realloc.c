// realloc both ways across the threshold, in place and by moving, with other blocks in the way. Argument: how many steps
// there are at random, if not 600.
//# bare:
//# emulated: 60
//# run: --pages thp
//# emulated: 60
//# run: --pages thp --min-size 64K --max-size 20M
//# emulated: 60
//# run: --pages 4k --prefault
//# emulated: 60
//# run: --pages thp --prefault=background
//# emulated: 60
//# run: --pages 2m
//# emulated: 60
//# run: --pages auto
//# emulated: 60
#include "check.h"

static unsigned state = 12345;
static unsigned next(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void chain(const size_t *sizes, size_t count, int blocked)
{
    void *neighbours[64] = {0};
    char *block = NULL;
    size_t held = 0;
    for (size_t i = 0; i < count; i++) {
        block = realloc(block, sizes[i]);
        CHECK(block != NULL && malloc_usable_size(block) >= sizes[i]);
        CHECK(holds(block, held < sizes[i] ? held : sizes[i], 5));
        held = sizes[i];
        fill(block, held, 5);
        if (blocked && i < 64)
            neighbours[i] = filled_block(MIB + 100 * i, i);
    }
    free(block);
    for (size_t i = 0; i < 64; i++) {
        CHECK(neighbours[i] == NULL || holds(neighbours[i], MIB + 100 * i, i));
        free(neighbours[i]);
    }
}

int main(int count, char **arguments)
{
    int steps = count > 1 ? atoi(arguments[1]) : 600;
    const size_t growth[] = {1, 100, 5000, 70000, MIB - 1, MIB, MIB + 1, 2 * MIB, 5 * MIB, 19 * MIB, 21 * MIB, 40 * MIB};
    const size_t shrink[] = {40 * MIB, 21 * MIB, 7 * MIB + 3, 2 * MIB, MIB, MIB - 1, 65536, 4096, 10, 1};
    const size_t jumps[] = {3 * MIB, 10, 30 * MIB, MIB - 1, MIB, 100, 12 * MIB, 12 * MIB + 1, 12 * MIB - 1, 30 * MIB};
    for (int blocked = 0; blocked < 2; blocked++) {
        chain(growth, sizeof growth / sizeof *growth, blocked);
        chain(shrink, sizeof shrink / sizeof *shrink, blocked);
        chain(jumps, sizeof jumps / sizeof *jumps, blocked);
    }
    // Many blocks that grow and shrink at random in the same space.
    enum { BLOCKS = 24 };
    char *blocks[BLOCKS] = {0};
    size_t held[BLOCKS] = {0};
    for (int step = 0; step < steps; step++) {
        unsigned i = next(BLOCKS);
        size_t bytes = 1 + next(next(4) == 0 ? 24 * MIB : 3 * MIB);
        size_t kept = held[i] < bytes ? held[i] : bytes;
        blocks[i] = next(2) ? realloc(blocks[i], bytes) : reallocarray(blocks[i], bytes, 1);
        CHECK(blocks[i] != NULL && holds(blocks[i], kept, i));
        fill(blocks[i], bytes, i);
        held[i] = bytes;
    }
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(holds(blocks[i], held[i], i));
        free(blocks[i]);
    }
    return 0;
}
