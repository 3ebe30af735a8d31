// A program that touches one page in every 2 MiB has little more of memory than by itself; one that comes to use all of its memory
// has it on huge pages.
//# run: -- blocks
//# expect: shortfall=sparse-use>=1M where thp
//# run: -- small
//# run: --pages 2m --quiet -- blocks
//# run: -- grows
//# run: -- dense
//# expect: pages=2m>=99% where thp linux>=6.1
//# expect: absent=sparse-use where linux>=6.1
//# run: -- later
//# expect: pages=2m>=50% where thp
//# run: --prefault -- whole
//# expect: pages=2m>=99% where thp
//# expect: absent=sparse-use
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, STEP = 2 * MIB };

static long resident_mib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1) exit(2);
    fclose(file);
    return pages >> 8;
}

static char *made(size_t bytes) {
    char *block = malloc(bytes);
    if (!block) exit(3);
    return block;
}

static void touch(char *block, size_t bytes, size_t step) {
    for (size_t at = 0; at < bytes; at += step) block[at] = 1;
}

int main(int count, char **words) {
    if (count != 2) return 4;
    const char *way = words[1];
    /* 256 MiB may be wasted, and what it takes to find out: four probes, one for every 64 MiB. */
    long most = 256 + 5 * 64 + 32;
    if (!strcmp(way, "blocks")) {
        /* 1280 MiB of addresses, 640 pages. */
        for (int block = 0; block < 40; block++) touch(made(32 * MIB), 32 * MIB, STEP);
    } else if (!strcmp(way, "small")) {
        for (int block = 0; block < 640; block++) touch(made(STEP - 4096), 1, 1);
    } else if (!strcmp(way, "grows")) {
        /* The same in one block that becomes larger, in place or elsewhere. */
        char *block = NULL, *pin = NULL;
        for (size_t bytes = 32 * MIB, before = 0; bytes <= 1280UL * MIB; before = bytes, bytes += 32 * MIB) {
            block = realloc(block, bytes);
            if (!block) return 3;
            touch(block + before, bytes - before, STEP);
            if (bytes % (256 * MIB) == 0) pin = made(1 * MIB);
        }
        (void)pin;
        for (size_t at = 0; at < 1280UL * MIB; at += STEP)
            if (block[at] != 1) return 5;
    } else if (!strcmp(way, "later")) {
        /* Sparse until that is known, and then all of it is used. */
        char *blocks[20];
        for (int block = 0; block < 20; block++) touch(blocks[block] = made(32 * MIB), 32 * MIB, STEP);
        for (int block = 0; block < 20; block++) touch(blocks[block], 32 * MIB, 4096);
        for (int block = 0; block < 12; block++) touch(made(32 * MIB), 32 * MIB, 4096);
        most = 32 * 32 + 64;
    } else {
        for (int block = 0; block < 12; block++) touch(made(32 * MIB), 32 * MIB, 4096);
        most = 12 * 32 + 64;
    }
    long resident = resident_mib();
    if (resident > most) {
        printf("%ld MiB resident, more than %ld\n", resident, most);
        return 1;
    }
    return 0;
}
