/* Creation of zeroed memory as programs get it: calloc, then a write to every page, by one thread or several.
 *
 *     create [MIB [THREADS [ROUNDS]]]     1024 MiB, 1 thread, 3 rounds if not given
 *
 * Prints the seconds of each round. The block is freed at the end of a round, so that later rounds show what an allocator
 * keeps.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAGE = 4096, MOST_THREADS = 256 };

struct part {
    volatile char *start;
    size_t bytes;
};

static void *touch(void *argument)
{
    const struct part *part = argument;
    for (size_t at = 0; at < part->bytes; at += PAGE)
        part->start[at] = 0;
    return NULL;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int count, char **words)
{
    const size_t bytes = (count > 1 ? strtoul(words[1], NULL, 10) : 1024) << 20;
    const int threads = count > 2 ? atoi(words[2]) : 1, rounds = count > 3 ? atoi(words[3]) : 3;
    if (bytes == 0 || threads < 1 || threads > MOST_THREADS || rounds < 1) {
        fprintf(stderr, "create [MIB [THREADS [ROUNDS]]]\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++) {
        const double begun = now();
        char *block = calloc(1, bytes);
        if (block == NULL) {
            perror("calloc");
            return 1;
        }
        pthread_t ids[MOST_THREADS];
        struct part parts[MOST_THREADS];
        const size_t share = (bytes / threads + PAGE - 1) / PAGE * PAGE;
        for (int thread = 0; thread < threads; thread++) {
            const size_t from = share * thread < bytes ? share * thread : bytes;
            parts[thread] = (struct part){block + from, share < bytes - from ? share : bytes - from};
            if (thread > 0 && pthread_create(&ids[thread], NULL, touch, &parts[thread]) != 0) {
                perror("pthread_create");
                return 1;
            }
        }
        touch(&parts[0]);
        for (int thread = 1; thread < threads; thread++)
            pthread_join(ids[thread], NULL);
        printf("%.6f\n", now() - begun);
        free(block);
    }
    return 0;
}
