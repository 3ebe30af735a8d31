// What is held for reuse goes back while the program grows by small blocks, of which the heap is not told.
//# bare: alone
//# run: -- alone
//# run: --pages 4k -- alone
//# run: --heap -- alone
//# run: -- threads
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MIB = 1 << 20, LARGE_MIB = 12 * 16, SMALL = 1000 };

/* A line of /proc/self/status, in MiB. */
static long status_mib(const char *key) {
    char line[256];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status) exit(2);
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, key, strlen(key))) value = atol(line + strlen(key)) >> 10;
    fclose(status);
    return value;
}

static void *nothing(void *given) { return given; }

static void **grow(void **list, long mib) {
    for (long bytes = mib * MIB; bytes > 0; bytes -= SMALL) {
        void **block = malloc(SMALL);
        if (!block) exit(3);
        memset(block, 1, SMALL);
        *block = list;
        list = block;
    }
    return list;
}

int main(int count, char **words) {
    char *blocks[12];
    if (count != 2) return 4;
    int has_threads = !strcmp(words[1], "threads");
    if (has_threads) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL)) return 5;
    }
    long before = status_mib("VmRSS:");
    for (int at = 0; at < 12; at++) {
        blocks[at] = malloc(16 * MIB);
        if (!blocks[at]) return 3;
        memset(blocks[at], 1, 16 * MIB);
    }
    for (int at = 0; at < 12; at++) free(blocks[at]);
    void **list = grow(NULL, LARGE_MIB);
    /* A tenth, what the allocator has beside blocks, and what grows between two looks. */
    long most = before + LARGE_MIB + LARGE_MIB / 10 + 24, has = status_mib("VmRSS:");
    /* With threads looks are rarer, and the next is waited for. */
    for (int tries = 0; has_threads && has > most && tries < 3000; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        list = grow(list, 1);
        most += 1;
        has = status_mib("VmRSS:");
    }
    if (!has_threads) has = status_mib("VmHWM:");
    while (list) {
        void **next = *list;
        free(list);
        list = next;
    }
    if (has > most) {
        printf("%ld MiB, with no more than %d in blocks and %ld before\n", has, LARGE_MIB, before);
        return 1;
    }
    return 0;
}
