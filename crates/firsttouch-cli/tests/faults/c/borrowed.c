// Memory that a child has from its parent counts once in a receipt, and hides no peak that comes later.
//# once: the kind of pages is nothing to it
//# run: -- fork
//# expect: processes=printed
//# run: -- vfork
//# expect: processes=printed
#include "looks.h"
#include <sys/wait.h>

enum { MIB = 1 << 20, FIRST_MIB = 40, MORE_MIB = 24 };

static unsigned char *filled(int mib) {
    unsigned char *block = malloc((size_t)mib * MIB);
    if (!block) exit(2);
    memset(block, 1, (size_t)mib * MIB);
    return block;
}

int main(int count, char **words) {
    int status;
    pid_t launcher = getppid();
    unsigned char *first = filled(FIRST_MIB);
    pid_t child = count == 2 && !strcmp(words[1], "vfork") ? vfork() : fork();
    if (child == 0) {
        wait_for_looks(launcher);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) return 3;
    unsigned char *more = filled(MORE_MIB);
    wait_for_looks(launcher);
    tell(stdout);
    return first[MIB] != 1 || more[MIB] != 1;
}
