/* A program with its own malloc: nothing of it may go to the C library or to a preloaded one, and nobody else may call it. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static unsigned long calls, frees;
static char *room, *end;

void *malloc(size_t bytes) {
    calls++;
    if (!room) {
        size_t all = (size_t)1 << 30;
        room = mmap(0, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        end = room + all;
    }
    bytes = (bytes + 31) & ~(size_t)15;
    if (bytes > (size_t)(end - room)) return 0;
    *(size_t *)room = bytes;
    room += bytes;
    return room - bytes + 16;
}
void free(void *block) { frees += block != 0; }
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *block, size_t bytes) {
    void *target = malloc(bytes);
    if (target && block) {
        size_t old = *(size_t *)((char *)block - 16) - 16;
        memcpy(target, block, old < bytes ? old : bytes);
    }
    return target;
}

int main(void) {
    unsigned long sum = 0;
    for (int round = 0; round < 20; round++) {
        unsigned char *block = malloc(4 << 20);
        memset(block, round + 1, 4 << 20);
        block = realloc(block, 8 << 20);
        for (int at = 0; at < 4 << 20; at += 997) sum += block[at];
        free(block);
    }
    printf("%lu calls, %lu frees, sum %lu\n", calls, frees, sum);
    return 6;
}
