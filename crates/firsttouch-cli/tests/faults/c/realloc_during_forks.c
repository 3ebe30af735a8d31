// A block that grows while another thread forks: it is not copied out of the heap and back, which would take its memory twice.
// Argument: how often.
//# bare: 100
//# run: --pages thp -- 100
//# emulated: 50
//# run: --pages 4k -- 100
//# emulated: 50
#include "check.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static atomic_int is_over;
/* Posted after each fork. */
static sem_t forked;

static void *fork_again_and_again(void *unused)
{
    while (!is_over) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(0);
        CHECK(end_of(child) == 0);
        CHECK(sem_post(&forked) == 0);
    }
    return unused;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const int rounds = atoi(arguments[1]);
    const size_t most = 64 * MIB;
    size_t bytes = most - rounds * 256 * KIB;
    CHECK(sem_init(&forked, 0, 0) == 0);
    char *block = MADE(malloc(bytes));
    memset(block, 1, bytes);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fork_again_and_again, NULL) == 0);
    for (int round = 0; round < rounds; round++) {
        CHECK(sem_wait(&forked) == 0);
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
