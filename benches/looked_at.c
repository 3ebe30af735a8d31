/* A program of so many mappings, MiB and processes that work for so many seconds of processor time, all together: which receipt_cost.py
 * has looked at. Says how many it has used. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double used(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static double used_by(int whom) {
    struct rusage usage;
    getrusage(whom, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Small pages, and between mappings one that may not be touched, so that the kernel joins none. They go before the end, so that what that
 * costs is the program's own. */
static void work(long mappings, long mib, double seconds) {
    const size_t page = 4096;
    size_t pages = ((size_t)mib << 20) / page / mappings;
    pages = pages ? pages : 1;
    const size_t each = (pages + 1) * page;
    char *all = mmap(NULL, mappings * each, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED || madvise(all, mappings * each, MADV_NOHUGEPAGE)) exit(2);
    for (char *memory = all; memory < all + mappings * each; memory += each) {
        if (mprotect(memory, pages * page, PROT_READ | PROT_WRITE)) exit(2);
        for (size_t at = 0; at < pages; at++) memory[at * page] = 1;
    }
    volatile unsigned long sum = 0;
    while (used() < seconds)
        for (int at = 0; at < 100000; at++) sum += at;
    munmap(all, mappings * each);
}

int main(int count, char **words) {
    if (count != 5) return 1;
    long mappings = atol(words[1]), mib = atol(words[2]), processes = atol(words[3]);
    double seconds = atof(words[4]) / processes;
    for (long number = 1; number < processes; number++)
        if (fork() == 0) {
            work(mappings, mib, seconds);
            _exit(0);
        }
    work(mappings, mib, seconds);
    while (wait(NULL) > 0) {}
    printf("%.6f\n", used_by(RUSAGE_SELF) + used_by(RUSAGE_CHILDREN));
    return 0;
}
