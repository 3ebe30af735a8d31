// A program that may not write files (ulimit -f 0): the agent's record must not end it by SIGXFSZ.
//# once: what cannot be written
//# bare:
//# outside: ulimit -f 0; exec "$@"
//# expect: stdout=done
//# run: --pages thp
//# inside: ulimit -f 0; exec "$@"
//# expect: stdout=done
#include "check.h"

int main(void)
{
    for (int i = 0; i < 4; i++) {
        char *block = filled_block(10 * MIB, i);
        free(block);
    }
    dprintf(1, "done\n");
    return 0;
}
