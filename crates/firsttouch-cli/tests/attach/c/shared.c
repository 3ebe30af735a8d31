/* shared MIB OFFSET: two processes that share memory, at an address OFFSET bytes behind a huge page's, and go on rewriting
 * it: each its own words of every page. `huge` is answered with the bytes that the first has on huge pages. At the end of its
 * input both look whether all words are theirs. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT ((char *)0x200000000000)
#define PAGE ((size_t)4096)

static char *memory;
static size_t bytes;

/* Adds one to this process's word of every page; whether all were equal. */
static int pass(int who)
{
    const uint64_t expected = *(uint64_t *)(memory + 8 * who);
    int equal = 1;
    for (size_t at = 0; at < bytes; at += PAGE)
        equal &= (*(uint64_t *)(memory + at + 8 * who))++ == expected;
    return equal;
}

static unsigned long huge_kib(void)
{
    char line[256];
    unsigned long kib = 0, sum = 0;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    while (smaps && fgets(line, sizeof line, smaps))
        if (sscanf(line, "ShmemPmdMapped: %lu", &kib) == 1)
            sum += kib;
    fclose(smaps);
    return sum;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    bytes = strtoul(arguments[1], NULL, 10) << 20;
    char *at = AT + strtoul(arguments[2], NULL, 10);
    memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != at)
        return 2;
    int *end = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pass(0);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int equal = 1;
        while (!__atomic_load_n(end, __ATOMIC_ACQUIRE))
            equal &= pass(1);
        _exit(equal ? 0 : 3);
    }
    printf("ready %d\n", getpid());
    fflush(stdout);
    char word[64];
    int equal = 1;
    while (scanf("%63s", word) == 1) {
        equal &= pass(0);
        printf("%lu\n", huge_kib() * 1024);
        fflush(stdout);
    }
    __atomic_store_n(end, 1, __ATOMIC_RELEASE);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 4;
    return equal && pass(0) ? 0 : 3;
}
