/* hidden: a block of malloc(3) on huge pages that the kernel watches to balance nodes, until smaps leaves some of them out; then
   `firsttouch watch` looks at it. */
#include "numa.h"
#include <sys/wait.h>
#include <time.h>

#define BYTES (64UL << 20)
#define PATIENCE_S 120

static unsigned long huge_kib(void) {
    FILE *sums = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    unsigned long kib = 0;
    if (!sums)
        give_up("smaps_rollup");
    while (fgets(line, sizeof line, sums))
        if (sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
            break;
    fclose(sums);
    return kib;
}

int main(void) {
    FILE *setting = fopen("/proc/sys/kernel/numa_balancing", "w");
    char *block = malloc(BYTES), self[16];
    if (!block || !setting || fputs("1", setting) < 0 || fclose(setting))
        give_up("numa_balancing");
    memset(block, 1, BYTES);
    /* The kernel goes through the memory of a thread as often as that has run for some time. */
    time_t end = time(NULL) + PATIENCE_S;
    while (huge_kib() << 10 >= BYTES)
        if (time(NULL) > end) {
            printf("nothing was left out\n");
            return 1;
        }
    snprintf(self, sizeof self, "%d", getpid());
    pid_t child = fork();
    int status;
    if (child == 0) {
        execlp("firsttouch", "firsttouch", "watch", "--json", "--samples", "1", self, NULL);
        give_up("firsttouch");
    }
    if (waitpid(child, &status, 0) != child || status)
        give_up("watch");
    return 0;
}
