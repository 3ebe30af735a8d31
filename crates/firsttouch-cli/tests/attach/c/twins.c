/* twins: makes two PID namespaces, and in each a process that has the same number there and began at the same clock tick. Says the
 * numbers that the first process of each, and then the twin, have here, and the twins' number there; ends with its input. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_TRIES 1000

static void give_up(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

struct space {
    int ask[2], answer[2];
    pid_t first;
};

struct twin {
    pid_t number;
    unsigned long long start;
};

/* Whose number is told in a namespace has its line there. */
static unsigned long long start_of(pid_t number) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", number);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file) || fclose(file))
        give_up(path);
    char *word = strtok(strrchr(text, ')') + 2, " ");
    for (int field = 3; field < 22; field++)
        word = strtok(NULL, " ");
    return strtoull(word, NULL, 10);
}

/* The first process of a namespace: at every word it ends the twin that it has, and makes another. */
static int first(void *argument) {
    struct space *space = argument;
    struct twin twin = {0};
    char word;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("proc", "/proc", "proc", 0, NULL))
        give_up("mount");
    while (read(space->ask[0], &word, 1) == 1) {
        if (twin.number && (kill(twin.number, SIGKILL) || waitpid(twin.number, NULL, 0) != twin.number))
            give_up("kill");
        twin.number = fork();
        if (twin.number == 0)
            for (;;)
                pause();
        if (twin.number < 0)
            give_up("fork");
        twin.start = start_of(twin.number);
        if (write(space->answer[1], &twin, sizeof twin) != sizeof twin)
            give_up("write");
    }
    return 1;
}

static void begin(struct space *space) {
    static char stack[1 << 16] __attribute__((aligned(16)));
    if (pipe(space->ask) || pipe(space->answer))
        give_up("pipe");
    space->first = clone(first, stack + sizeof stack, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, space);
    if (space->first < 0)
        give_up("clone");
}

/* The only child of a process. */
static pid_t child_of(pid_t parent) {
    char path[64];
    pid_t child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &child) != 1 || fclose(file))
        give_up(path);
    return child;
}

int main(void) {
    struct space spaces[2];
    struct twin twins[2];
    int tries = 0;
    begin(&spaces[0]);
    begin(&spaces[1]);
    do {
        if (tries++ == MOST_TRIES) {
            errno = ETIME;
            give_up("twins");
        }
        for (int one = 0; one < 2; one++)
            if (write(spaces[one].ask[1], "+", 1) != 1)
                give_up("write");
        for (int one = 0; one < 2; one++)
            if (read(spaces[one].answer[0], &twins[one], sizeof *twins) != sizeof *twins)
                give_up("read");
    } while (twins[0].number != twins[1].number || twins[0].start != twins[1].start);
    printf("ready %d\n", getpid());
    for (int one = 0; one < 2; one++)
        printf("%d %d ", spaces[one].first, child_of(spaces[one].first));
    printf("%d\n", twins[0].number);
    fflush(stdout);
    getchar();
    return 0;
}
