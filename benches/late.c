/* Computes first and touches its memory late, a block after the other, as a program does that reads or prepares before it works.
 *
 *   late [MILLISECONDS [MIB]]      default 5000 ms, then 1024 MiB in blocks of 64 MiB
 *
 * Prints the milliseconds that touching took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

int main(int count, char **words) {
    double wait = count > 1 ? atof(words[1]) : 5000, began = now();
    int blocks = (count > 2 ? atoi(words[2]) : 1024) / 64;
    volatile unsigned long sum = 0;
    while (now() - began < wait)
        for (int i = 0; i < 100000; i++) sum += i;
    began = now();
    for (int block = 0; block < blocks; block++) {
        char *bytes = malloc(64 << 20);
        if (!bytes) return perror("malloc"), 1;
        memset(bytes, block + 1, 64 << 20);
        sum += bytes[block];
    }
    printf("%.1f\n", now() - began);
    return 0;
}
