/* One line for each thread of a team: its number and the CPUs that the kernel lets it run on. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    printf("processors %d\n", omp_get_num_procs());
    for (int round = 0; round < 2; round++) {
#pragma omp parallel
        {
            unsigned long set[128];
            memset(set, 0, sizeof set);
            syscall(SYS_sched_getaffinity, 0, sizeof set, set);
#pragma omp critical
            {
                printf("thread %d on", omp_get_thread_num());
                for (int cpu = 0; cpu < 8192; cpu++)
                    if (set[cpu / 64] >> (cpu % 64) & 1) printf(" %d", cpu);
                printf("\n");
            }
        }
    }
    printf("processors %d\n", omp_get_num_procs());
    return 0;
}
