// A control group of 128 MiB: what fits without us fits with us, also when freed large blocks become small ones, of
// which the recycled memory must make way; what does not fit dies the same way. Seldom the kernel ends the command with it, which is in the
// group, too: then there is no receipt.
//# requires: cgroup=128M
//# bare: fits
//# emulated: fits 1
//# run: --pages thp -- fits
//# emulated: fits 1
//# expect: complete=true
//# run: --pages thp --prefault -- fits
//# emulated: fits 1
//# run: --pages auto -- fits
//# emulated: fits 1
//# exec: --pages thp -- fits
//# emulated: fits 1
//# bare: exceeds
//# expect: signal=9
//# run: --pages thp -- exceeds
//# expect: signal=9
//# exec: --pages thp -- exceeds
//# expect: signal=9
#include "check.h"

static const size_t MOST = 72 * MIB;

/* Blocks of one size, all filled, then checked and freed. */
static void use(size_t bytes)
{
    size_t count = MOST / bytes;
    char **blocks = calloc(count, sizeof *blocks);
    for (size_t i = 0; i < count; i++)
        blocks[i] = filled_block(bytes, i);
    for (size_t i = 0; i < count; i++) {
        CHECK(holds(blocks[i], bytes, i));
        free(blocks[i]);
    }
    free(blocks);
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "exceeds") == 0) {
        char *blocks[20];
        for (int i = 0; i < 20; i++)
            fill(blocks[i] = malloc(10 * MIB), 10 * MIB, i);
        CHECK(holds(blocks[19], 10 * MIB, 19));
        return 0;
    }
    int rounds = count > 2 ? atoi(arguments[2]) : 2;
    for (int round = 0; round < rounds; round++) {
        use(24 * MIB);
        // The C library's own memory, with ours held for reuse.
        use(60 * KIB);
        use(1500 * KIB);
        // Above the size that the C library keeps in lists of its own until a large block is freed to it.
        use(1000);
        use(MOST);
        // And memory of nobody's heap.
        char *mapped = new_mapping(MOST);
        fill(mapped, MOST, 1);
        munmap(mapped, MOST);
    }
    return 0;
}
