/* Huge pages switched on and off a thousand times while eight threads allocate: what they compute is right, no block is
 * lost, and nothing is left of it all at the end. Argument: how often, if not a thousand times. */
#include "check.h"
#include <firsttouch.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, TOGGLES = 1000, BLOCKS = 4 };

static int over;
static size_t operations; /* of all threads */

static size_t resident_bytes(void)
{
    size_t pages;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%*u %zu", &pages) == 1);
    fclose(statm);
    return pages * 4096;
}

/* Blocks of all sizes around the least that is placed, each with its own bytes at both ends; grown, shrunk, exchanged.
 * Answers how many blocks it has checked. */
static void *work(void *seed)
{
    unsigned char *blocks[BLOCKS] = {0};
    size_t sizes[BLOCKS] = {0}, checked = 0, random = (size_t)seed + 1;
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED) || checked < 200) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t index = random >> 60 & (BLOCKS - 1), bytes = (random >> 20) % (2 * MIB) + 64 * 1024;
        unsigned char mark = (unsigned char)(index * 16 + (size_t)seed);
        if (blocks[index]) {
            CHECK(blocks[index][0] == mark && blocks[index][sizes[index] - 1] == mark);
            checked++;
        }
        if (random >> 50 & 1) {
            free(blocks[index]);
            blocks[index] = calloc(1, bytes);
            CHECK(blocks[index] && blocks[index][0] == 0 && blocks[index][bytes / 2] == 0 && blocks[index][bytes - 1] == 0);
        } else {
            blocks[index] = realloc(blocks[index], bytes);
            CHECK(blocks[index] && (sizes[index] == 0 || blocks[index][0] == mark));
        }
        sizes[index] = bytes;
        blocks[index][0] = blocks[index][bytes - 1] = mark;
        blocks[index][bytes / 2] = 0xff;
        __atomic_fetch_add(&operations, 1, __ATOMIC_RELAXED);
    }
    for (size_t index = 0; index < BLOCKS; index++)
        free(blocks[index]);
    return (void *)checked;
}

static void run(int toggles)
{
    pthread_t threads[THREADS];
    over = 0;
    for (size_t index = 0; index < THREADS; index++)
        CHECK(pthread_create(&threads[index], NULL, work, (void *)index) == 0);
    for (int round = 0; round < toggles; round++) {
        /* One operation after each toggle at the least, so that there are some in every state. */
        size_t seen = __atomic_load_n(&operations, __ATOMIC_RELAXED);
        while (__atomic_load_n(&operations, __ATOMIC_RELAXED) == seen)
            sched_yield();
        if (round % 2)
            firsttouch_ism_off();
        else
            CHECK(firsttouch_ism_on(round % 4 ? "4k" : "thp", MIB / 2, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int index = 0; index < THREADS; index++) {
        void *checked;
        CHECK(pthread_join(threads[index], &checked) == 0 && (size_t)checked >= 200);
    }
}

int main(int count, char **words)
{
    int toggles = count > 1 ? atoi(words[1]) : TOGGLES;
    firsttouch_session now;
    alarm(300); /* a deadlock is a failure */
    CHECK(mallopt(M_ARENA_MAX, 1) == 1); /* which alone gives all back that is free */
    run(0);                              /* what the C library keeps for so many threads is there before */
    malloc_trim(0);
    size_t resident = resident_bytes(), used = mallinfo2().uordblks;
    for (int time = 0; time < 2; time++) {
        run(toggles);
        CHECK(firsttouch_ism_list(NULL, 0) == 0 && firsttouch_ism_status(&now, sizeof now) == FIRSTTOUCH_RESULT_OK);
        CHECK(now.live_blocks == 0 && now.live_bytes == 0 && now.placed_blocks > 0);
        CHECK(firsttouch_ism_end() == FIRSTTOUCH_RESULT_OK);
        CHECK(firsttouch_ism_status(&now, sizeof now) == FIRSTTOUCH_RESULT_OK && now.via == FIRSTTOUCH_VIA_NOTHING);
        malloc_trim(0);
        /* The library's own tables, and no block among them. */
        CHECK(mallinfo2().uordblks <= used + 64 * 1024);
        CHECK(resident_bytes() <= resident + 4 * MIB);
    }
    puts("done");
    return 0;
}
