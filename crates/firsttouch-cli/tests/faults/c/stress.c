// Threads that allocate, resize, free and pass each other blocks of 16 bytes to 48 MiB, each with a pattern that is
// checked, while the agent is switched, re-configured and trimmed and children are forked.
//
// Arguments: operations of each thread, or a time such as 180s. Without an agent nothing is switched.
//# build: -lm
//# requires: pool2m=64
//# bare: 100
//# emulated: 8
//# run: --pages thp --min-size 64K -- 500
//# emulated: 6
//# expect: complete=true
//# run: --pages auto --min-size 256K --prefault -- 200
//# emulated: 4
//# expect: complete=true
#include "check.h"
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS = 8, SLOTS = 24, EXCHANGED = 64, KEPT = 6, LISTED = 100 };
static const size_t LARGEST = 48 * MIB, BUDGET = 768 * MIB;

struct status {
    uint32_t version, enabled;
    uint64_t page_bytes, min_bytes, max_bytes, live_bytes, live_blocks, peak_bytes, placed_blocks, recycled_bytes, held_bytes;
};
struct listed {
    uint64_t id, address, bytes, huge_bytes;
};
static int (*agent_enable)(const char *, uint64_t, uint64_t);
static void (*agent_disable)(void), (*agent_trim)(void), (*agent_status)(struct status *, size_t);
static int (*agent_prefault)(int);
static size_t (*agent_list)(struct listed *, size_t);

/* What is known of a block, kept apart from it. */
struct block {
    char *at;
    size_t bytes, stride;
    uint64_t seed;
};

static struct block *_Atomic exchanged[EXCHANGED];
static atomic_size_t live;
static atomic_ulong operations, kinds[6], passed_on, running = THREADS;
static unsigned long wanted;
/* Posted for every five operations, and for each thread that ends. */
static sem_t five;
static double until_s;

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static size_t some_size(uint64_t *state)
{
    double unit = (double)(next(state) >> 11) / 9007199254740992.0;
    return (size_t)(16 * exp(unit * log((double)LARGEST / 16)));
}

static uint64_t word_at(const struct block *block, size_t index)
{
    return (block->seed + index) * 0x9e3779b97f4a7c15u;
}

/* A word every `stride` bytes, and the last 8 bytes. */
static void mark(struct block *block)
{
    for (size_t index = 0; index + 8 <= block->bytes; index += block->stride) {
        uint64_t word = word_at(block, index);
        memcpy(block->at + index, &word, 8);
    }
    uint64_t last = word_at(block, block->bytes);
    memcpy(block->at + block->bytes - 8, &last, 8);
}

static void check(const struct block *block, size_t bytes, int whole)
{
    uint64_t word;
    /* The last mark may lie over a word of the others. */
    size_t end = whole ? block->bytes - 8 : bytes;
    for (size_t index = 0; index + 8 <= end; index += block->stride) {
        memcpy(&word, block->at + index, 8);
        CHECK(word == word_at(block, index));
    }
    if (whole) {
        memcpy(&word, block->at + block->bytes - 8, 8);
        CHECK(word == word_at(block, block->bytes));
    }
}

static void describe(struct block *block, size_t bytes, uint64_t *state)
{
    static const size_t strides[] = {64, 256, 1024, 4096};
    block->bytes = bytes;
    block->seed = next(state);
    block->stride = bytes < 64 * KIB ? 8 : strides[next(state) % 4];
}

static void *allocate(size_t bytes, uint64_t *state)
{
    size_t alignment = (size_t)16 << next(state) % 18;
    void *at = NULL;
    unsigned kind = next(state) % 4;
    atomic_fetch_add(&kinds[kind], 1);
    switch (kind) {
    case 0:
        at = malloc(bytes);
        break;
    case 1:
        at = calloc(bytes, 1);
        for (size_t index = 0; at != NULL && index < bytes; index += index < 65536 ? 1 : 509)
            CHECK(((char *)at)[index] == 0);
        CHECK(at == NULL || ((char *)at)[bytes - 1] == 0);
        break;
    case 2:
        at = memalign(alignment, bytes);
        CHECK((uintptr_t)at % alignment == 0);
        break;
    case 3:
        CHECK(posix_memalign(&at, alignment, bytes) == 0 && (uintptr_t)at % alignment == 0);
        break;
    }
    CHECK(at != NULL && malloc_usable_size(at) >= bytes);
    return at;
}

static struct block *make(uint64_t *state)
{
    size_t bytes = some_size(state);
    if (atomic_fetch_add(&live, bytes) + bytes > BUDGET) {
        atomic_fetch_sub(&live, bytes);
        return NULL;
    }
    struct block *block = malloc(sizeof *block);
    describe(block, bytes, state);
    block->at = allocate(bytes, state);
    mark(block);
    return block;
}

static void drop(struct block *block)
{
    check(block, block->bytes, 1);
    atomic_fetch_sub(&live, block->bytes);
    atomic_fetch_add(&kinds[4], 1);
    errno = 77;
    free(block->at);
    CHECK(errno == 77);
    free(block);
}

static void resize(struct block *block, uint64_t *state)
{
    size_t bytes = some_size(state);
    if (atomic_fetch_add(&live, bytes) + bytes > BUDGET) {
        atomic_fetch_sub(&live, bytes);
        return;
    }
    check(block, block->bytes, 1);
    block->at = realloc(block->at, bytes);
    CHECK(block->at != NULL && malloc_usable_size(block->at) >= bytes);
    atomic_fetch_sub(&live, block->bytes);
    atomic_fetch_add(&kinds[5], 1);
    /* The mark at the old end may lie over the word before. */
    size_t kept = block->bytes - 8 < bytes ? block->bytes - 8 : bytes;
    check(block, kept, 0);
    describe(block, bytes, state);
    mark(block);
}

static void *work(void *number)
{
    uint64_t state = 88172645463325252u + 977 * (uintptr_t)number;
    struct block *blocks[SLOTS] = {0};
    for (unsigned long done = 0; until_s > 0 ? now_s() < until_s : done < wanted; done++) {
        struct block **slot = &blocks[next(&state) % SLOTS];
        unsigned what = next(&state) % 8;
        if (*slot == NULL) {
            *slot = make(&state);
        } else if (what < 3) {
            drop(*slot);
            *slot = NULL;
        } else if (what < 5) {
            resize(*slot, &state);
        } else {
            /* Whoever takes it from there frees it. */
            *slot = atomic_exchange(&exchanged[next(&state) % EXCHANGED], *slot);
            atomic_fetch_add(&passed_on, 1);
        }
        if (atomic_fetch_add(&operations, 1) % 5 == 4)
            CHECK(sem_post(&five) == 0);
    }
    for (int i = 0; i < SLOTS; i++)
        if (blocks[i] != NULL)
            drop(blocks[i]);
    atomic_fetch_sub(&running, 1);
    CHECK(sem_post(&five) == 0);
    return NULL;
}

static void switch_agent(uint64_t *state)
{
    static const char *const pages[] = {"4k", "thp", "2m", "auto", "64k"};
    static const size_t least[] = {4096, 64 * KIB, MIB, 5 * MIB}, most[] = {6 * MIB, 20 * MIB, SIZE_MAX};
    static struct listed list[LISTED];
    struct status status;
    switch (next(state) % 8) {
    case 0:
        agent_disable();
        break;
    case 1:
        agent_trim();
        break;
    case 2:
        agent_status(&status, sizeof status);
        CHECK(status.version >= 1 && status.live_bytes <= status.peak_bytes && status.live_blocks <= status.placed_blocks);
        break;
    case 3:
        for (size_t i = 1, count = agent_list(list, LISTED); i < count && i < LISTED; i++)
            CHECK(list[i].huge_bytes <= list[i].bytes || list[i].huge_bytes == UINT64_MAX);
        break;
    case 4:
        CHECK(agent_prefault(next(state) % 3) == 0 && agent_prefault(3) == EINVAL);
        break;
    default:
        CHECK(agent_enable(pages[next(state) % 5], least[next(state) % 4], most[next(state) % 3]) == 0);
    }
}

/* The child has its own view of blocks that nobody changes meanwhile, and a heap that works. */
static pid_t fork_checker(struct block *kept[KEPT], uint64_t state)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < KEPT; i++) {
            check(kept[i], kept[i]->bytes, 1);
            resize(kept[i], &state);
            struct block *block = make(&state);
            if (block != NULL)
                drop(block);
            drop(kept[i]);
        }
        _exit(0);
    }
    return child;
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    char *end;
    double number = strtod(arguments[1], &end);
    if (*end == 's')
        until_s = now_s() + number;
    else
        wanted = (unsigned long)number;
    agent_enable = dlsym(RTLD_DEFAULT, "firsttouch_agent_enable");
    agent_disable = dlsym(RTLD_DEFAULT, "firsttouch_agent_disable");
    agent_trim = dlsym(RTLD_DEFAULT, "firsttouch_agent_trim");
    agent_prefault = dlsym(RTLD_DEFAULT, "firsttouch_agent_prefault");
    agent_status = dlsym(RTLD_DEFAULT, "firsttouch_agent_status");
    agent_list = dlsym(RTLD_DEFAULT, "firsttouch_agent_list");

    CHECK(sem_init(&five, 0, 0) == 0);
    uint64_t state = 4101842887655102017u;
    struct block *kept[KEPT];
    for (int i = 0; i < KEPT; i++)
        CHECK((kept[i] = make(&state)) != NULL);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    unsigned long switches = 0, forks = 0;
    while (atomic_load(&running) > 0) {
        while (sem_wait(&five) != 0)
            CHECK(errno == EINTR);
        if (agent_enable != NULL) {
            switch_agent(&state);
            switches++;
        }
        if (next(&state) % 40 == 0) {
            int end = end_of(fork_checker(kept, next(&state)));
            if (end != 0)
                dprintf(2, "a child ended with %d\n", end);
            CHECK(end == 0);
            forks++;
            int i = next(&state) % KEPT;
            check(kept[i], kept[i]->bytes, 1);
            resize(kept[i], &state);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < EXCHANGED; i++)
        if (exchanged[i] != NULL)
            drop(exchanged[i]);
    for (int i = 0; i < KEPT; i++)
        drop(kept[i]);
    CHECK(atomic_load(&live) == 0);
    // Before anything is printed: the buffer for it may be placed, too.
    struct status status = {0};
    if (agent_status != NULL)
        agent_status(&status, sizeof status);
    CHECK(status.live_bytes == 0 && status.live_blocks == 0);
    printf("operations %lu: malloc %lu, calloc %lu, memalign %lu, posix_memalign %lu, free %lu, realloc %lu, passed on %lu; "
           "switches %lu, forks %lu; placed %lu, recycled %lu MiB, peak %lu MiB\n",
           atomic_load(&operations), kinds[0], kinds[1], kinds[2], kinds[3], kinds[4], kinds[5], passed_on, switches, forks,
           status.placed_blocks, status.recycled_bytes / MIB, status.peak_bytes / MIB);
    return 0;
}
