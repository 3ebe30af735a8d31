/* not_written MIB HOW: has memory of which it has written little, one byte in 2 MiB, and only read the rest (`read`); or that it has written and
 * that a child has from it since (`forked`). Each line of its input is answered with the bytes that are its own, what is shared
 * by its part; at the end of its input it looks whether all is as it was. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static unsigned long pss_kib(void)
{
    char line[256];
    unsigned long kib = 0;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    while (rollup && fgets(line, sizeof line, rollup) && sscanf(line, "Pss: %lu", &kib) != 1) {}
    fclose(rollup);
    return kib;
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    const size_t bytes = strtoul(words[1], NULL, 10) << 20;
    const int is_read = !strcmp(words[2], "read");
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 2;
    unsigned long sum = 0;
    for (size_t at = 0; at < bytes; at += 4096)
        if (!is_read || at % (2 << 20) == 0)
            memory[at] = 1;
        else
            sum += memory[at];
    if (!is_read && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    printf("ready %d\n", getpid());
    fflush(stdout);
    char word[64];
    while (scanf("%63s", word) == 1) {
        printf("%lu\n", pss_kib() * 1024);
        fflush(stdout);
    }
    for (size_t at = 0; at < bytes; at += 4096)
        sum += memory[at];
    return sum == (is_read ? bytes >> 21 : bytes >> 12) ? 0 : 3;
}
