// A process whose first thread has ended goes on by the others, and looks like a zombie: a receipt tells of it and of what it starts,
// from outside and from within.
//# once: the kind of pages is nothing to it
//# bare: itself
//# run: --pages plain -- itself
//# expect: processes=2
//# expect: processes=printed
//# expect: complete=true
//# run: --pages thp -- itself
//# expect: placed>=40M
//# expect: pages=2m>=90% where thp
//# expect: complete=true
//# run: --pages plain -- below
//# expect: processes=3
//# expect: processes=printed
//# run: -- left
//# expect: processes=printed
//# run: --via supervise -- itself
//# expect: processes=printed
//# exec: --via supervise -- itself
//# where: linux>=6.1
//# expect: stderr~first-thread-ended: the program ran as it is
#include "looks.h"
#include <pthread.h>

enum { OWN_MIB = 40, CHILD_MIB = 24 };

static pid_t launcher;
static int wait_for[2];

/* What the first thread is now, as everybody sees it. */
static char state_of_first(void) {
    char line[512], *after = NULL;
    FILE *stat = fopen("/proc/self/stat", "r");
    if (!stat) exit(3);
    if (fgets(line, sizeof line, stat)) after = strrchr(line, ')');
    fclose(stat);
    return after ? after[2] : 0;
}

/* The program itself, without its first thread: it has memory, and a child that has some. */
static void *go_on(void *nothing) {
    int out[2], status;
    char line[256];
    while (state_of_first() != 'Z') usleep(1000);
    if (pipe(out) || pipe(wait_for)) exit(5);
    pid_t child = fork();
    if (child == 0) {
        close(out[0]);
        close(wait_for[1]);
        tell_and_wait(CHILD_MIB, out[1], wait_for[0]);
    }
    close(out[1]);
    unsigned char *own = filled(OWN_MIB);
    FILE *lines = fdopen(out[0], "r");
    while (fgets(line, sizeof line, lines)) fputs(line, stdout);
    tell(stdout);
    /* Without a receipt these are those before memory is collapsed. */
    wait_for_looks(launcher);
    close(wait_for[1]);
    if (waitpid(child, &status, 0) != child || status) exit(7);
    exit(own[MIB] != 1);
    return nothing;
}

static void leave(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, go_on, NULL)) exit(8);
    pthread_exit(NULL);
}

int main(int count, char **words) {
    int ended[2], status;
    char byte;
    launcher = getppid();
    if (count != 2) return 5;
    if (!strcmp(words[1], "itself")) leave();
    if (pipe(ended)) return 5;
    /* Below the program; or left behind by who started it, as a daemon is. */
    pid_t starter = fork();
    if (starter == 0) {
        if (!strcmp(words[1], "left") && (setsid() < 0 || fork())) _exit(0);
        leave();
    }
    close(ended[1]);
    if (waitpid(starter, &status, 0) != starter || status) return 7;
    /* Until all have ended. */
    return read(ended[0], &byte, 1) != 0;
}
