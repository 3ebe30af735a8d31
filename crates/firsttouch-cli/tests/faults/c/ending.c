// The ways a program ends: its status and its signals are passed on, and the receipt says whether it saw the end.
//# once: how a program ends
//# bare: return
//# expect: exit=3
//# run: --pages thp -- return
//# expect: exit=3
//# expect: complete=true
//# expect: placed>=20M
//# run: --pages thp -- exit
//# expect: exit=3
//# expect: complete=true
//# run: --pages thp -- _exit
//# expect: exit=3
//# expect: complete=true
//# expect: placed>=20M
//# run: --pages thp -- _Exit
//# expect: exit=3
//# expect: complete=true
//# run: --pages thp -- quick_exit
//# expect: exit=3
//# expect: complete=true
//# expect: placed>=20M
//# run: --pages thp -- pthread_exit
//# expect: complete=true
//# run: --pages thp -- allocating
//# expect: exit=3
//# expect: complete=true
//# run: --pages auto -- allocating_exit
//# expect: exit=3
//# expect: complete=true
//# run: --pages thp -- forking
//# expect: exit=3
//# expect: complete=true
//# exec: --pages thp -- _exit
//# expect: exit=3
//# exec: --pages thp -- allocating
//# expect: exit=3
//# bare: kill
//# expect: signal=9
//# run: --pages thp -- kill
//# expect: signal=9
//# expect: complete=false
//# run: --pages thp -- segv
//# expect: signal=11
//# expect: complete=false
//# run: --pages thp -- abort
//# expect: signal=6
//# expect: complete=false
//# run: --pages thp -- term
//# expect: signal=15
//# expect: complete=false
//# exec: --pages thp -- segv
//# expect: signal=11
//# run: --pages thp -- bad_free
//# expect: signal=6
//# expect: stderr~invalid pointer
//# run: --pages thp -- double_free
//# expect: signal=6
//# expect: stderr~invalid pointer
#include "check.h"
#include <pthread.h>
#include <signal.h>

static void *allocate_on(void *unused)
{
    for (size_t bytes = MIB;; bytes = bytes % (20 * MIB) + 300 * KIB) {
        char *block = malloc(bytes);
        memset(block, 1, bytes);
        block = realloc(block, bytes * 2);
        free(block);
        free(calloc(1, bytes));
    }
    return unused;
}

static void *fork_on(void *unused)
{
    for (;;) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child > 0)
            end_of(child);
    }
    return unused;
}

static void start(void *(*work)(void *), int threads)
{
    pthread_t thread;
    for (int i = 0; i < threads; i++)
        CHECK(pthread_create(&thread, NULL, work, NULL) == 0);
    // So that they are in the middle of it.
    for (int i = 0; i < 50; i++)
        free(malloc(2 * MIB));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const char *way = arguments[1];
#define IS(name) (strcmp(way, name) == 0)
    char *block = filled_block(20 * MIB, 1);
    free(malloc(MIB));
    if (IS("exit"))
        exit(3);
    if (IS("_exit"))
        _exit(3);
    if (IS("_Exit"))
        _Exit(3);
    if (IS("quick_exit"))
        quick_exit(3);
    if (IS("pthread_exit"))
        pthread_exit(NULL);
    if (IS("allocating") || IS("allocating_exit"))
        start(allocate_on, 6);
    if (IS("allocating_exit"))
        _exit(3);
    if (IS("forking")) {
        start(fork_on, 2);
        start(allocate_on, 2);
    }
    if (IS("kill"))
        raise(SIGKILL);
    if (IS("segv"))
        *(volatile char *)NULL = 1;
    if (IS("abort"))
        abort();
    if (IS("term"))
        raise(SIGTERM);
    if (IS("bad_free"))
        free(block + 4096);
    if (IS("double_free")) {
        free(block);
        free(block);
    }
    return 3;
}
