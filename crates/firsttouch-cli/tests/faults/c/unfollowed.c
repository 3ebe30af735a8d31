// A program that was to be followed into and has no agent: what it has is told of with the reason that there is evidence for.
//# once: the kind of pages is nothing to it
//# run: --follow -- once
//# inside: env -u LD_PRELOAD "$@"; exit $?
//# expect: processes=printed
//# expect: note~no agent is in it
//# run: --follow -- once
//# inside: "$@"; exit $?
//# expect: processes=printed
//# expect: placed>=96M
//# expect: shortfall=nothing
#include "looks.h"

/* Who started the shell that started us. */
static pid_t launcher(void) {
    char path[64];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d %*s %*c %d", &parent) != 1) exit(5);
    fclose(file);
    return parent;
}

int main(void) {
    unsigned char *own = filled(96);
    wait_for_looks(launcher());
    tell(stdout);
    return own[MIB] != 1;
}
