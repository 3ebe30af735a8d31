// Blocks on reserved pages, an empty pool, and a fork: a write would need a page that the pool has not, and the kernel
// would end the child by SIGBUS. Both sides write all over, twice deep. Argument: how often, if not three
// times.
//# once: reserved pages
//# requires: pool2m=32
//# bare:
//# emulated: 1
//# run: --pages 2m
//# emulated: 1
//# expect: complete=true
//# run: --pages auto --prefault
//# emulated: 1
//# exec: --pages 2m
//# emulated: 1
#include "check.h"

static void change(char *block, size_t bytes, unsigned old, unsigned new)
{
    CHECK(holds(block, bytes, old));
    fill(block, bytes, new);
    CHECK(holds(block, bytes, new));
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3;
    // All of the pool, in pieces.
    const size_t bytes[3] = {40 * MIB - 4096, 20 * MIB - 4096, 4 * MIB - 4096};
    char *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = filled_block(bytes[i], i);
    for (int round = 0; round < rounds; round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            for (int i = 0; i < 3; i++)
                change(blocks[i], bytes[i], i, 50);
            pid_t grandchild = fork();
            if (grandchild == 0) {
                for (int i = 0; i < 3; i++)
                    change(blocks[i], bytes[i], 50, 51);
                free(blocks[1]);
                char *more = calloc(30, MIB);
                CHECK(more != NULL && is_zero(more, 30 * MIB));
                fill(more, 30 * MIB, 1);
                _exit(0);
            }
            CHECK(end_of(grandchild) == 0);
            for (int i = 0; i < 3; i++) {
                CHECK(holds(blocks[i], bytes[i], 50));
                free(blocks[i]);
            }
            exit(0);
        }
        for (int i = 0; i < 3; i++)
            change(blocks[i], bytes[i], i, i + 60);
        CHECK(end_of(child) == 0);
        for (int i = 0; i < 3; i++)
            change(blocks[i], bytes[i], i + 60, i);
        // What was freed in the children comes back here only when it is freed here.
        CHECK((blocks[2] = realloc(blocks[2], bytes[2] + 8 * MIB)) != NULL);
        change(blocks[2], bytes[2], 2, 2);
        CHECK((blocks[2] = realloc(blocks[2], bytes[2])) != NULL);
    }
    return 0;
}
