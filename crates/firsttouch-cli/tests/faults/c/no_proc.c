// No /proc: nothing can be read back; the program runs all the same.
//# once: what cannot be read
//# requires: root
//# requires: command=unshare
//# run: --pages thp
//# outside: exec unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
//# expect: stdout=done
//# expect: complete=true
//# expect: note~/proc is not mounted
//# exec: --pages auto --prefault
//# outside: exec unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"
//# expect: stdout=done
#include "check.h"

int main(void)
{
    CHECK(open("/proc/self/maps", O_RDONLY) < 0);
    for (int round = 0; round < 3; round++) {
        char *block = calloc(20, MIB);
        CHECK(block != NULL && is_zero(block, 20 * MIB));
        fill(block, 20 * MIB, 1);
        pid_t child = fork();
        if (child == 0) {
            fill(block, 20 * MIB, 2);
            free(block);
            _exit(0);
        }
        CHECK(end_of(child) == 0 && holds(block, 20 * MIB, 1));
        free(block);
    }
    dprintf(1, "done\n");
    return 0;
}
