// steady MILLIONS: so many million multiplications, each of which waits for the one before. It touches next to no memory, and its
// time is proportional to MILLIONS, whatever the caches: two of these differ by as much as somebody wants them to.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    if (count != 2) {
        fprintf(stderr, "usage: steady MILLIONS\n");
        return 2;
    }
    uint64_t left = strtoull(words[1], NULL, 10) * 1000000, value = 88172645463325252ULL;
    while (left--) value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    // Even the last bit depends on all of them.
    printf("%llu\n", (unsigned long long)value);
    return 0;
}
