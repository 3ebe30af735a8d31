// More is allocated than the pool holds: the rest falls back to other pages, and nothing dies of SIGBUS. Up to Linux 6.12,
// memory that is read before it is written, as is here what calloc gives, does not become huge by the write. Argument: how often, if not three
// times.
//# requires: pool2m=32
//# run: --pages 2m
//# emulated: 2
//# expect: complete=true
//# expect: pool>=8M where linux>=6.7
//# expect: pages=2m>=95% where thp linux>=6.13
//# expect: shortfall=pool-empty>=60M where linux>=5.16
//# run: --pages 2m --prefault
//# emulated: 2
//# expect: shortfall=pool-empty>=60M where linux>=5.16
//# run: --pages 1g
//# emulated: 2
//# expect: shortfall=pool-empty>=120M where linux>=5.16
//# run: --pages auto
//# emulated: 2
//# expect: pages=2m>=95% where thp linux>=6.13
//# expect: absent=pool-empty
//# exec: --pages 2m
//# emulated: 2
#include "check.h"

enum { BLOCKS = 16 };

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3;
    const size_t bytes = 8 * MIB - 4096;
    char *blocks[BLOCKS];
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            CHECK((blocks[i] = i % 2 ? malloc(bytes) : calloc(bytes, 1)) != NULL);
            CHECK(i % 2 || is_zero(blocks[i], bytes));
            fill(blocks[i], bytes, i);
        }
        for (int i = 0; i < BLOCKS; i++) {
            CHECK(holds(blocks[i], bytes, i));
            // Out of the pool and back again.
            if (i % 3 == 0) {
                CHECK((blocks[i] = realloc(blocks[i], bytes + 4 * MIB)) != NULL && holds(blocks[i], bytes, i));
                CHECK((blocks[i] = realloc(blocks[i], bytes)) != NULL && holds(blocks[i], bytes, i));
            }
        }
        // Mappings of the C library's own, while the pool refuses: none may come to lie between ours.
        for (int i = 0; i < 100; i++) {
            char *other = malloc(200 * KIB + i);
            memset(other, i, 200 * KIB);
            free(other);
        }
        for (int i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    return 0;
}
