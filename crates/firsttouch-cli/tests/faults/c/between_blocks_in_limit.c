// What is free between blocks counts against a limit, too: glibc gives each such block back, as a mapping of its own.
//# once: what a limit allows
//# bare:
//# run: --pages thp
//# run: --pages 4k --min-size 64K
//# run: --pages thp --min-size 64K
//# run: --pages 64k --min-size 64K
//# run: --pages thp --min-size 64K --prefault
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>

/* Blocks of both sizes have as much in between; the larger ones are placed by default. */
enum { MOST_BLOCKS = 400, WAYS = 3 };
static const struct {
    size_t blocks, bytes;
} SIZES[] = {{MOST_BLOCKS, 150 * KIB}, {50, 1200 * KIB}};
static const size_t LARGE = 30 * MIB;

static void *nothing(void *value)
{
    return value;
}

/* Every other block is freed, and most of the rest after the limit: what is in between is more than there is room for. */
static void use_room(int resource, size_t count, size_t each, int is_before, int way)
{
    static char *blocks[MOST_BLOCKS];
    for (size_t i = 0; i < count; i++) {
        blocks[i] = MADE(malloc(unknown(each)));
        fill(blocks[i], each, i);
    }
    size_t bytes = resource == RLIMIT_DATA ? 0 : 20 * MIB;
    bytes += count * (each + 8 * KIB) / 2 + LARGE + 10 * MIB;
    struct rlimit limit = {bytes, bytes};
    if (is_before)
        for (size_t i = 0; i < count; i += 2)
            free(blocks[i]);
    CHECK(setrlimit(resource, &limit) == 0);
    if (!is_before)
        for (size_t i = 0; i < count; i += 2)
            free(blocks[i]);
    char *at = NULL;
    pthread_attr_t attributes;
    pthread_t thread;
    switch (way) {
    case 0:
        at = malloc(unknown(LARGE));
        break;
    case 1:
        at = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        break;
    case 2:
        CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, LARGE) == 0);
        CHECK(pthread_create(&thread, &attributes, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
        break;
    }
    if (way < 2) {
        CHECK(at != NULL && at != MAP_FAILED);
        touch(at, LARGE);
    }
    for (size_t i = 1; i < count; i += 2)
        CHECK(holds(blocks[i], each, i));
    /* What was between them serves whoever the kernel gives it to. */
    for (size_t i = 1; i < count; i += 4) {
        free(blocks[i]);
        blocks[i] = calloc(unknown(each), 1);
        CHECK(blocks[i] != NULL && is_zero(blocks[i], each));
        fill(blocks[i], each, i);
    }
    for (size_t i = 1; i < count; i += 2) {
        CHECK(holds(blocks[i], each, i));
        free(blocks[i]);
    }
}

int main(void)
{
    for (int run = 0; run < 2 * WAYS; run++) {
        IN_CHILD(run, {
            int size = run / WAYS, is_before = run / 2 % 2;
            use_room(run % 2 ? RLIMIT_AS : RLIMIT_DATA, SIZES[size].blocks, SIZES[size].bytes, is_before, run % WAYS);
        });
    }
    return 0;
}
