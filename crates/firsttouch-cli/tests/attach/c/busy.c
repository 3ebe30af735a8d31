/* busy THREADS: threads that compute, all bound to one CPU, the first that the process may use. Says `ready PID` when they
 * do; `done` when its input ends, and ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic int running, over;
static cpu_set_t first;

static void *work(void *unused) {
    if (pthread_setaffinity_np(pthread_self(), sizeof first, &first))
        exit(2);
    running++;
    while (!over)
        ;
    return unused;
}

int main(int argc, char **argv) {
    pthread_t threads[64];
    int count = argc > 1 ? atoi(argv[1]) : 2, cpu = 0;
    cpu_set_t all;
    if (count < 1 || count > 64 || sched_getaffinity(0, sizeof all, &all))
        return 2;
    while (!CPU_ISSET(cpu, &all))
        cpu++;
    CPU_SET(cpu, &first);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 2;
    while (running < count)
        sched_yield();
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    over = 1;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
