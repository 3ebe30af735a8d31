// What is held for reuse keeps within a tenth above the program's own peak, and what is made and freed again is still reused.
//# bare: grows
//# run: -- grows
//# expect: peak>=96M
//# run: --pages 64k --quiet -- grows
//# run: --pages 4k -- grows
//# run: --min-size 64K -- grows
//# run: --heap -- grows
//# run: --pages 2m --quiet -- grows
//# run: -- again
//# expect: recycled>=160M
//# run: -- larger
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20 };

/* The largest resident set so far, in MiB, with pages of a pool, of which the kernel keeps no peak: those there are now. */
static long peak_mib(void) {
    char line[256];
    long value, sum = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) exit(2);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &value) == 1 || sscanf(line, "HugetlbPages: %ld", &value) == 1) sum += value;
    fclose(status);
    return sum >> 10;
}

static char *made(size_t bytes) {
    char *block = malloc(bytes);
    if (!block) exit(3);
    return block;
}

int main(int count, char **words) {
    long before = peak_mib(), own = 0;
    if (count != 2) return 4;
    if (!strcmp(words[1], "grows")) {
        /* As a vector does: the old block is freed when the new one has its contents. */
        size_t bytes = 1 * MIB;
        char *block = made(bytes);
        memset(block, 1, bytes);
        while (bytes < 64 * MIB) {
            char *larger = made(2 * bytes);
            memcpy(larger, block, bytes);
            free(block);
            memset(larger + bytes, 1, bytes);
            block = larger;
            bytes *= 2;
        }
        own = 64;
        if (block[bytes - 1] != 1) return 5;
        free(block);
    } else if (!strcmp(words[1], "again")) {
        for (int round = 0; round < 8; round++) {
            char *block = made(24 * MIB);
            memset(block, round, 24 * MIB);
            free(block);
        }
        own = 24;
    } else {
        /* Each is larger than what was freed before, so that none of it serves. */
        for (size_t bytes = 8 * MIB; bytes <= 80 * MIB; bytes += 8 * MIB) {
            char *block = made(bytes), *pin = made(1 * MIB);
            memset(block, 1, bytes);
            free(block);
            pin[0] = 1;
        }
        own = 80 + 10;
    }
    long peak = peak_mib();
    /* A tenth, and the huge pages that a block begins and ends in. */
    if (peak > before + own + own / 10 + 10) {
        printf("at its peak %ld MiB instead of %ld\n", peak - before, own);
        return 1;
    }
    return 0;
}
