// As pool_fork, with two threads that fork at the same time, so that each has to tell its own child from the other's. Argument: how often each
// forks, if not 25 times.
//# once: reserved pages
//# requires: pool2m=16
//# bare:
//# emulated: 8
//# run: --pages 2m
//# emulated: 8
//# expect: complete=true
#include "check.h"
#include <pthread.h>

enum { BLOCKS = 2, FORKERS = 2 };
static int forks = 25;
static const size_t BYTES = 8 * MIB - 4096;
static char *blocks[BLOCKS];

static void *fork_on(void *unused)
{
    for (int i = 0; i < forks; i++) {
        int gate[2];
        char byte;
        CHECK(pipe(gate) == 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            close(gate[1]);
            for (int j = 0; j < BLOCKS; j++)
                for (size_t at = 0; at < BYTES; at += 4096)
                    blocks[j][at] = 1;
            // Until the parent, or the end of it, lets go.
            _exit(read(gate[0], &byte, 1) == 1 ? 0 : 2);
        }
        close(gate[0]);
        CHECK(write(gate[1], "x", 1) == 1);
        CHECK(end_of(child) == 0);
        close(gate[1]);
    }
    return unused;
}

int main(int count, char **arguments)
{
    if (count > 1)
        forks = atoi(arguments[1]);
    pthread_t threads[FORKERS];
    for (int i = 0; i < BLOCKS; i++)
        CHECK((blocks[i] = calloc(1, BYTES)) != NULL);
    for (int i = 0; i < FORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, fork_on, NULL) == 0);
    for (int i = 0; i < FORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < BLOCKS; i++)
        CHECK(is_zero(blocks[i], BYTES));
    return 0;
}
