/* not_written MIB HOW: has memory of which it has written little, one byte in 2 MiB, and only read the rest (`read`); of which it has written the
 * first half of each 2 MiB and a little more (`half`); that it has written and then given up (`freed`) or protected (`protected`), or that a
 * child has from it since (`forked`). Each line of its input is answered with the bytes that are its own, what is shared by its part; after
 * `more N`, it has written N MiB beside. At the end of its input it looks whether all is as it was. */
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
    const int is_read = !strcmp(words[2], "read"), is_half = !strcmp(words[2], "half"),
              is_freed = !strcmp(words[2], "freed"), is_forked = !strcmp(words[2], "forked");
    const size_t written = is_read ? 4096 : is_half ? 260 * 4096 : 2 << 20;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 2;
    unsigned long sum = 0;
    for (size_t at = 0; at < bytes; at += 4096)
        if (at % (2 << 20) < written)
            memory[at] = 1;
        else if (is_read)
            sum += memory[at];
    if (is_freed && madvise((void *)memory, bytes, MADV_FREE))
        return 2;
    if (!strcmp(words[2], "protected") && mprotect((void *)memory, bytes, PROT_READ))
        return 2;
    if (is_forked && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    printf("ready %d\n", getpid());
    fflush(stdout);
    char word[64];
    size_t mib;
    while (scanf("%63s", word) == 1) {
        if (!strcmp(word, "more") && scanf("%zu", &mib) == 1)
            memset(mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, mib << 20);
        printf("%lu\n", pss_kib() * 1024);
        fflush(stdout);
    }
    for (size_t at = 0; at < bytes; at += 4096)
        sum += memory[at];
    /* Who gave it up has some of it, or none. */
    return is_freed || sum == (bytes >> 21) * (written / 4096) ? 0 : 3;
}
