/* pressure: three threads fill blocks of malloc(3), look at them again and free them, while their control group is short of memory from time
   to time and the kernel balances nodes; says how many were looked at, and what of a block that lives is lost. */
#include "group.h"
#include <pthread.h>
#include <stdatomic.h>

#define GROUP GROUPS "/pressure"
#define MOST (8UL << 20)
/* Who has more than its group is slowed down by the kernel, more and more. */
enum { THREADS = 3, BLOCKS = 6, TURNS = 12, WHILE_SHORT = 4, BETWEEN = 60 };

static atomic_ulong seen;
static atomic_int ended;

static void look(const char *block, size_t bytes, char mark) {
    for (size_t at = 0; at < bytes; at += PAGE)
        if (block[at] != mark) {
            printf("lost: a page at %zu of %zu has %d instead of %d\n", at, bytes, block[at], mark);
            exit(1);
        }
    seen++;
}

static void *work(void *number) {
    unsigned random = 77 * (unsigned)(size_t)number + 1;
    char *blocks[BLOCKS] = {0};
    size_t bytes[BLOCKS] = {0};
    while (!ended) {
        int one = rand_r(&random) % BLOCKS;
        if (blocks[one]) {
            look(blocks[one], bytes[one], (char)(one + 1));
            free(blocks[one]);
        }
        bytes[one] = rand_r(&random) % MOST + PAGE;
        blocks[one] = malloc(bytes[one]);
        if (!blocks[one])
            give_up("malloc");
        memset(blocks[one], one + 1, bytes[one]);
    }
    for (int one = 0; one < BLOCKS; one++)
        if (blocks[one])
            look(blocks[one], bytes[one], (char)(one + 1));
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    enter_group(GROUP);
    set("/proc/sys/kernel/numa_balancing", "1");
    for (size_t number = 0; number < THREADS; number++)
        if (pthread_create(&threads[number], NULL, work, (void *)number))
            give_up("pthread_create");
    for (int turn = 0; turn < TURNS; turn++) {
        int is_short = turn % 2;
        unsigned long enough = seen + (is_short ? WHILE_SHORT : BETWEEN);
        set(GROUP "/memory.high", is_short ? "40M" : "max");
        while (seen < enough)
            sched_yield();
    }
    set(GROUP "/memory.high", "max");
    ended = 1;
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    printf("kept 0:%lu\n", (unsigned long)seen);
    return 0;
}
