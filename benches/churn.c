/* Allocates, fills and frees the same large block again and again, as vectorised languages do with every temporary.
 *
 *   churn [ROUNDS [MIB]]      default 10 rounds of 1024 MiB
 *
 * Prints a checksum, so that no compiler can leave the work out, and fails if a block does not hold what was written.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    int rounds = count > 1 ? atoi(words[1]) : 10;
    size_t bytes = (size_t)(count > 2 ? atoi(words[2]) : 1024) << 20;
    unsigned long sum = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned char *block = malloc(bytes);
        if (!block) return perror("malloc"), 1;
        memset(block, round + 1, bytes);
        for (size_t at = 0; at < bytes; at += 4096) {
            if (block[at] != (unsigned char)(round + 1)) return fputs("wrong content\n", stderr), 1;
            sum += block[at];
        }
        free(block);
    }
    printf("%lu\n", sum);
    return 0;
}
