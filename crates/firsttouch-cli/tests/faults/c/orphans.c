// Who is left behind by a process that ends at once, as a daemon is, belongs to the program still: a receipt tells of it.
//# once: the kind of pages is nothing to it
//# bare: stays
//# run: -- stays
//# expect: processes=printed
//# run: --follow -- stays
//# expect: processes=printed
//# run: --follow -- replaced
//# expect: processes=printed
#include "looks.h"

enum { OWN_MIB = 24 };

int main(int count, char **words) {
    int out[2], wait_for[2], status;
    char line[256];
    if (count == 4 && !strcmp(words[1], "left")) tell_and_wait(OWN_MIB, atoi(words[2]), atoi(words[3]));
    if (count != 2 || pipe(out) || pipe(wait_for)) return 5;
    pid_t starter = fork();
    if (starter == 0) {
        if (setsid() < 0 || fork()) _exit(0);
        close(out[0]);
        close(wait_for[1]);
        if (!strcmp(words[1], "stays")) tell_and_wait(OWN_MIB, out[1], wait_for[0]);
        become(words[0], "left", out[1], wait_for[0]);
    }
    if (waitpid(starter, &status, 0) != starter || status) return 7;
    close(out[1]);
    close(wait_for[0]);
    unsigned char *own = filled(OWN_MIB);
    FILE *lines = fdopen(out[0], "r");
    int told = 0;
    while (fgets(line, sizeof line, lines)) told += fputs(line, stdout) >= 0;
    fflush(stdout);
    wait_for_looks(getppid());
    tell(stdout);
    return told != 1 || own[MIB] != 1;
}
