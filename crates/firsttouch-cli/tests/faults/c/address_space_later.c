// The program limits its own address space while it runs (Python's resource.setrlimit is used so): the address space
// that we hold must not count against it.
//# once: what a limit allows
//# bare:
//# run: --pages thp
//# run: --pages 4k
//# exec: --pages auto
#include "check.h"
#include <sys/resource.h>

int main(void)
{
    char *before = malloc(20 * MIB);
    CHECK(before != NULL);
    fill(before, 20 * MIB, 1);
    free(malloc(50 * MIB));
    struct rlimit limit = {GIB, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    void *mapped = mmap(NULL, 200 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
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
    return 0;
}
