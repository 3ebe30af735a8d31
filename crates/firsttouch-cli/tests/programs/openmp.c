/* One line for each thread of a team: its number and the CPUs that the kernel lets it run on. */
#include "kernel_cpus.h"
#include <omp.h>

int main(void) {
    printf("processors %d\n", omp_get_num_procs());
    for (int round = 0; round < 2; round++) {
#pragma omp parallel
        {
            char cpus[65536];
            kernel_cpus(cpus);
#pragma omp critical
            printf("thread %d on%s\n", omp_get_thread_num(), cpus);
        }
    }
    printf("processors %d\n", omp_get_num_procs());
    return 0;
}
