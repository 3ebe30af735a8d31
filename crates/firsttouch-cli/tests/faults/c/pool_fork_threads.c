// As pool_fork, with two threads that fork at the same time, so that each has to tell its own child from the other's; alone, and while
// further threads write to reserved pages: with each write to a page that a child has not copied yet, the kernel takes that page from the
// child. Arguments: how often each forks, and how many write.
//# once: reserved pages
//# requires: pool2m=16
//# bare: 25 0
//# emulated: 8 0
//# bare: 25 2
//# emulated: 5 2
//# run: --pages 2m -- 25 0
//# emulated: 8 0
//# expect: complete=true
//# run: --pages 2m -- 25 2
//# emulated: 5 2
//# expect: complete=true
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { BLOCKS = 2, FORKERS = 2 };
static int forks;
static const size_t BYTES = 8 * MIB - 4096;
static atomic_int forkers = FORKERS;
static char *blocks[BLOCKS], *still;

static void *write_on(void *number)
{
    char *block = blocks[(intptr_t)number];
    unsigned char value = 0;
    while (atomic_load(&forkers) > 0) {
        value++;
        for (size_t at = 0; at < BYTES; at += 4096)
            block[at] = (char)value;
        for (size_t at = 0; at < BYTES; at += 4096)
            CHECK(block[at] == (char)value);
    }
    return NULL;
}

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
            CHECK(holds(still, BYTES, 7));
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
    atomic_fetch_sub(&forkers, 1);
    return unused;
}

int main(int count, char **arguments)
{
    CHECK(count == 3);
    forks = atoi(arguments[1]);
    int writers = atoi(arguments[2]);
    pthread_t threads[BLOCKS + FORKERS];
    // One block that nobody writes to is as it was, on both sides.
    still = filled_block(BYTES, 7);
    for (intptr_t i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = calloc(1, BYTES)) != NULL);
        if (i < writers)
            CHECK(pthread_create(&threads[FORKERS + i], NULL, write_on, (void *)i) == 0);
    }
    for (int i = 0; i < FORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, fork_on, NULL) == 0);
    for (int i = 0; i < FORKERS + writers; i++)
        pthread_join(threads[i], NULL);
    for (int i = writers; i < BLOCKS; i++)
        CHECK(is_zero(blocks[i], BYTES));
    CHECK(holds(still, BYTES, 7));
    return 0;
}
