// A child that shall execute another program at once: what its parent holds of a pool for reuse it does not copy, where
// the kernel takes reserved pages back (Linux 5.18).
//# once: reserved pages
//# requires: pool2m=40
//# bare:
//# exec: --pages 2m
//# where: linux>=5.18
#include "check.h"

int main(void)
{
    char *kept = malloc(4 * MIB), *freed = malloc(60 * MIB);
    fill(kept, 4 * MIB, 1);
    fill(freed, 60 * MIB, 2);
    free(freed);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        size_t resident = proc_bytes("/proc/self/status", "RssAnon:");
        CHECK(resident < 20 * MIB);
        CHECK(holds(kept, 4 * MIB, 1));
        char *block = filled_block(60 * MIB, 3);
        CHECK(holds(block, 60 * MIB, 3) && holds(kept, 4 * MIB, 1));
        execlp("true", "true", NULL);
        _exit(1);
    }
    CHECK(end_of(child) == 0 && holds(kept, 4 * MIB, 1));
    char *block = calloc(1, 60 * MIB);
    CHECK(block != NULL && is_zero(block, 60 * MIB));
    return 0;
}
