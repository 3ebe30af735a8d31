// What a receipt tells of the processes of a program, against what the kernel tells each of itself.
//# once: the kind of pages is nothing to it
//# bare: stays
//# run: -- stays
//# expect: processes=3
//# expect: processes=printed
//# expect: placed>=24M
//# expect: complete=true
//# run: --follow -- stays
//# expect: processes=3
//# expect: processes=printed
//# expect: placed>=48M
//# expect: note~of 2 programs
//# run: --prefault -- stays
//# expect: processes=printed
//# expect: huge=shared>=90% where thp linux>=6.1
//# run: --via supervise -- stays
//# expect: processes=3
//# run: --pages plain -- stays
//# expect: processes=printed
//# run: -- killed
//# expect: signal=15
//# expect: processes=printed
//# expect: complete=false
//# expect: placed>=24M
#include "looks.h"
#include <signal.h>

enum { SHARED_MIB = 16, OWN_MIB = 24 };

static unsigned char *shared_memory;

static void child(int out, int wait) {
    long sum = 0;
    for (size_t at = 0; at < (size_t)SHARED_MIB * MIB && shared_memory; at += 4096) sum += shared_memory[at];
    if (shared_memory && sum != SHARED_MIB * 256) exit(4);
    tell_and_wait(OWN_MIB, out, wait);
}

int main(int count, char **words) {
    int out[2], wait_for[2], status;
    char line[256];
    if (count == 4 && !strcmp(words[1], "leaf")) child(atoi(words[2]), atoi(words[3]));
    shared_memory = mmap(0, (size_t)SHARED_MIB * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared_memory == MAP_FAILED || pipe(out) || pipe(wait_for)) return 5;
    memset(shared_memory, 1, (size_t)SHARED_MIB * MIB);
    for (int number = 0; number < 2; number++) {
        if (fork()) continue;
        close(out[0]);
        close(wait_for[1]);
        /* One goes on as it is, the other becomes a program of its own. */
        if (number == 0) child(out[1], wait_for[0]);
        become(words[0], "leaf", out[1], wait_for[0]);
    }
    close(out[1]);
    close(wait_for[0]);
    unsigned char *own = filled(OWN_MIB);
    FILE *lines = fdopen(out[0], "r");
    while (fgets(line, sizeof line, lines)) fputs(line, stdout);
    fflush(stdout);
    wait_for_looks(getppid());
    tell(stdout);
    if (count == 2 && !strcmp(words[1], "killed")) raise(SIGTERM);
    close(wait_for[1]);
    for (int number = 0; number < 2; number++)
        if (wait(&status) < 0 || status) return 7;
    return own[MIB] != 1;
}
