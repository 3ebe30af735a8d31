/* A peer for `firsttouch measure`: dependent reads, and read, write and copy streams by what the compiler makes of plain
 * loops with all CPUs. Prints the best of REPETITIONS passes, like other programs of its kind.
 *
 *     memory_peer [MIB]     size of the region, 1024 if not given
 */
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { REPETITIONS = 9, LINE_WORDS = 8, READS = 1 << 20, HUGE = 2 << 20 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static double least(double a, double b) { return a < b ? a : b; }

/* A pseudo-random number (xorshift, Marsaglia). */
static uint64_t state = 88172645463325252u;
static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int main(int count, char **arguments)
{
    size_t bytes = (count > 1 ? strtoul(arguments[1], NULL, 10) : 1024) << 20;
    size_t words = bytes / 8, lines = words / LINE_WORDS, half = words / 2;
    uint64_t *memory = aligned_alloc(HUGE, bytes);
    uint32_t *order = malloc(lines * sizeof *order);
    if (!memory || !order || lines < 2) {
        fprintf(stderr, "memory_peer: no memory for %zu bytes\n", bytes);
        return 1;
    }
    madvise(memory, bytes, MADV_HUGEPAGE);

    /* Every line once, in the order of a Fisher-Yates shuffle; each holds the address of the next. */
    for (size_t line = 0; line < lines; line++)
        order[line] = line;
    for (size_t line = lines - 1; line > 0; line--) {
        size_t other = next_random() % (line + 1);
        uint32_t kept = order[line];
        order[line] = order[other];
        order[other] = kept;
    }
    for (size_t line = 0; line < lines; line++)
        memory[order[line] * (size_t)LINE_WORDS] =
            (uintptr_t)&memory[order[(line + 1) % lines] * (size_t)LINE_WORDS];
    uint64_t *at = memory;
    double latency = 1e9, read = 1e9, write = 1e9, copy = 1e9;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        double begin = now();
        for (int step = 0; step < READS; step++)
            at = (uint64_t *)(uintptr_t)*at;
        latency = least(latency, (now() - begin) / READS);
    }
    if (!at)
        return 1;

    uint64_t sum = 0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        double begin = now();
#pragma omp parallel for reduction(+ : sum)
        for (size_t word = 0; word < words; word++)
            sum += memory[word];
        read = least(read, now() - begin);
        begin = now();
#pragma omp parallel for
        for (size_t word = 0; word < words; word++)
            memory[word] = sum;
        write = least(write, now() - begin);
        begin = now();
#pragma omp parallel for
        for (size_t word = 0; word < half; word++)
            memory[half + word] = memory[word];
        copy = least(copy, now() - begin);
    }
    printf("latency_ns %.2f\nread_gbps %.3f\nwrite_gbps %.3f\ncopy_gbps %.3f\n", latency * 1e9, bytes / read / 1e9,
           bytes / write / 1e9, bytes / copy / 1e9);
    return sum == 42;
}
