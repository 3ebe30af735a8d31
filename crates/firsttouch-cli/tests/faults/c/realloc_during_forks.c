// A block that grows while another thread forks: it is not copied out of the heap and back, which would take its memory twice.
//# bare:
//# run: --pages thp
//# run: --pages 4k
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 100 };

static atomic_int forks, is_over;

static void *fork_again_and_again(void *unused)
{
    while (!is_over) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(0);
        CHECK(end_of(child) == 0);
        forks++;
    }
    return unused;
}

int main(void)
{
    const size_t most = 128 * MIB;
    size_t bytes = most - ROUNDS * 256 * KIB;
    char *block = MADE(malloc(bytes));
    memset(block, 1, bytes);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fork_again_and_again, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        int before = forks;
        while (forks == before)
            sched_yield();
        size_t more = bytes + 256 * KIB;
        CHECK((block = realloc(block, more)) != NULL);
        memset(block + bytes, 1, more - bytes);
        bytes = more;
    }
    is_over = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(bytes == most && is_all(block, bytes, 1));
    CHECK(proc_bytes("/proc/self/status", "VmHWM:") < most + most / 4);
    free(block);
    return 0;
}
