/* As churn.c, but wants its blocks cleared: allocates by calloc, checks that all is zero, writes to it and frees it.
 *
 *   churn_calloc [ROUNDS [MIB]]      default 10 rounds of 1024 MiB
 *
 * Who hands out a block that was used before has to clear it, and how fast that goes decides.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    int rounds = count > 1 ? atoi(words[1]) : 10;
    size_t bytes = (size_t)(count > 2 ? atoi(words[2]) : 1024) << 20;
    uint64_t sum = 0;
    for (int round = 0; round < rounds; round++) {
        uint64_t *block = calloc(bytes / 8, 8);
        if (!block) return perror("calloc"), 1;
        uint64_t seen = 0;
        for (size_t at = 0; at < bytes / 8; at++) {
            seen |= block[at];
            block[at] = at ^ (uint64_t)round;
        }
        if (seen) return fputs("not cleared\n", stderr), 1;
        sum += block[bytes / 16];
        free(block);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
