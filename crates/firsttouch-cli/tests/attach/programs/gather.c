/* gather ROUNDS MIB: reads and writes words all over a table, by two threads, a half each.
 *
 * How the programs here talk: `ready PID` once there is something to attach to; then for each round a line with what
 * only the contents of memory decide. ROUNDS 0 goes on until there is a file `stop` in the folder. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 2, STEPS = 1 << 20 };

struct part {
    uint64_t *words, count, state, sum;
    pthread_t thread;
};

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void *work(void *argument)
{
    struct part *part = argument;
    for (int step = 0; step < STEPS; step++) {
        uint64_t *word = &part->words[(uint64_t)((unsigned __int128)next(&part->state) * part->count >> 64)];
        part->sum += *word;
        *word ^= part->state;
    }
    return NULL;
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    uint64_t rounds = strtoull(arguments[1], NULL, 10), words = strtoull(arguments[2], NULL, 10) << 17;
    uint64_t *table = malloc(words * sizeof *table);
    if (!table)
        return 1;
    for (uint64_t at = 0; at < words; at++)
        table[at] = at * 0x9e3779b97f4a7c15u;
    struct part parts[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        parts[i] = (struct part){.words = table + words / THREADS * i, .count = words / THREADS, .state = 88172645463325252u + i};
    printf("ready %d\n", getpid());
    fflush(stdout);
    for (uint64_t round = 1; rounds ? round <= rounds : access("stop", F_OK) != 0; round++) {
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&parts[i].thread, NULL, work, &parts[i]))
                return 1;
        uint64_t digest = 0;
        for (int i = 0; i < THREADS; i++) {
            pthread_join(parts[i].thread, NULL);
            digest = digest * 31 + parts[i].sum;
        }
        printf("round %llu %llx\n", (unsigned long long)round, (unsigned long long)digest);
        fflush(stdout);
    }
    return 0;
}
