// A limit of the address space (ulimit -v) or of data (ulimit -d): what fits without us fits with us, and what does not is refused by
// NULL and ENOMEM as without us. Argument: how often, if not three times.
//# once: what a limit allows
//# bare:
//# outside: ulimit -v 524288; exec "$@"
//# emulated: 1
//# run: --pages thp
//# outside: ulimit -v 524288; exec "$@"
//# emulated: 1
//# expect: complete=true
//# run: --pages 4k --min-size 64K
//# outside: ulimit -v 524288; exec "$@"
//# emulated: 1
//# run: --pages 2m --prefault
//# outside: ulimit -v 524288; exec "$@"
//# emulated: 1
//# exec: --pages auto
//# outside: ulimit -v 524288; exec "$@"
//# emulated: 1
//# run: --pages thp
//# outside: ulimit -d 524288; exec "$@"
//# emulated: 1
//# run: --pages 2m --prefault
//# outside: ulimit -d 524288; exec "$@"
//# emulated: 1
//# exec: --pages 4k --min-size 64K
//# outside: ulimit -d 524288; exec "$@"
//# emulated: 1
#include "check.h"

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3;
    for (int round = 0; round < rounds; round++) {
        // One block of nearly everything.
        char *large = MADE(malloc(440 * MIB));
        touch(large, 440 * MIB);
        errno = 0;
        CHECK(malloc(200 * MIB) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(calloc(200, MIB) == NULL && errno == ENOMEM);
        errno = 0;
        CHECK(realloc(large, 600 * MIB) == NULL && errno == ENOMEM);
        void *result = large;
        CHECK(posix_memalign(&result, 4096, 200 * MIB) == ENOMEM && result == large);
        for (size_t at = 0; at < 440 * MIB; at += 16 * MIB)
            CHECK(large[at] == 1);
        free(large);
        // Many, until there is no more; then all is there for a mapping of the program's own.
        char *blocks[64];
        int many = 0;
        while (many < 64 && (blocks[many] = malloc(9 * MIB + 5000)) != NULL)
            touch(blocks[many++], 9 * MIB);
        CHECK(many >= 46 && errno == ENOMEM);
        for (int i = 0; i < many; i++)
            free(blocks[i]);
        void *mapped = new_mapping(430 * MIB);
        munmap(mapped, 430 * MIB);
    }
    return 0;
}
