// The program limits its own address space while it runs (Python's resource.setrlimit is used so): the address space
// that we hold must not count against it. So does a child that only clone(2) or `_Fork` knows of. Argument: `copies`, for such children.
//# once: what a limit allows
//# bare:
//# bare: copies
//# run: --pages thp
//# run: --pages 4k
//# exec: --pages auto
//# run: --pages thp -- copies
//# exec: --pages auto -- copies
#include "copy.h"
#include <sys/resource.h>

static void limit_and_use(char *before)
{
    struct rlimit limit = {GIB, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    new_mapping(200 * MIB);
    char *small = malloc(500 * KIB), *large = malloc(200 * MIB);
    CHECK(small != NULL && large != NULL);
    fill(large, 200 * MIB, 2);
    fill(small, 500 * KIB, 3);
    CHECK(holds(before, 20 * MIB, 1) && holds(large, 200 * MIB, 2) && holds(small, 500 * KIB, 3));
    CHECK((before = realloc(before, 300 * MIB)) != NULL && holds(before, 20 * MIB, 1));
    free(large);
    free(before);
    errno = 0;
    CHECK(malloc(2 * GIB) == NULL && errno == ENOMEM);
}

int main(int count, char **words)
{
    char *before = filled_block(20 * MIB, 1);
    free(malloc(50 * MIB));
    int copies = count > 1 && strcmp(words[1], "copies") == 0 ? 2 : 0;
    for (int other = 0; other < copies; other++) {
        pid_t child = copy(other);
        if (child == 0) {
            limit_and_use(before);
            _exit(0);
        }
        CHECK(end_of(child) == 0);
    }
    limit_and_use(before);
    return 0;
}
