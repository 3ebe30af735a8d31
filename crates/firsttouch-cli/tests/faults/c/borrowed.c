// Memory that a child has from its parent counts once in a receipt, and hides no peak that comes later.
//# once: the kind of pages is nothing to it
//# run: -- fork
//# expect: processes=printed
//# run: -- vfork
//# expect: processes=printed
#include "looks.h"

enum { FIRST_MIB = 40, MORE_MIB = 24 };

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
