/* heartbeat MIB WORKERS [NAP_US [open]]: a process of small pages that notices every pause and every lost byte. After each
 * beat and each page its threads sleep for NAP_US, so that an emulated machine gets on. With `open` it does not forbid
 * itself huge pages while it fills its memory: who supervises it takes that for an answer.
 *
 * Commands are lines of its input; every answer is one line of JSON.
 *   beats N    waits for N more heartbeats, then says what was seen since the last such command
 *   pass N     the same, for N more pages checked by the workers
 *   check      stops the workers, reads all of the memory, says whether it is as it was left, and goes on
 *   gaps       the gaps of half a millisecond and more since the last such command, of each of the two watches:
 *              [begin, end, waited], ns of CLOCK_MONOTONIC
 * The end of the input ends it, after a last check: exit status 0, or 3 if a byte was lost.
 *
 * Threads: one beats (adds 1 to the first word of a random page), one maps and unmaps, WORKERS check a random page and
 * give it new contents. A gap is the time between two beats. How long a thread waited for a processor the kernel tells
 * apart (schedstat): that part of a gap, which comes of sharing processors, is taken off in `stall`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 512, MOST_WORKERS = 64, MOST_GAPS = 1 << 18 };
static const uint64_t SUSPICIOUS_NS = 500 * 1000;
/* A beat that long may have waited for a processor. Looked at each time, short waits are not taken for a part of a later
 * gap. */
static const uint64_t INTERRUPTED_NS = 5 * 1000;

struct gap {
    uint64_t begin_ns, end_ns, waited_ns;
};

/* What one thread has seen since it was last asked. The gaps are written by it alone; `count` after the gap itself. */
struct watch {
    _Atomic uint64_t worst_gap_ns, worst_stall_ns, beats, over_1ms, over_5ms, over_20ms;
    uint64_t waited_ns;
    int schedstat;
    _Atomic size_t count, missed;
    size_t said;
    struct gap gaps[MOST_GAPS];
};

static uint64_t (*memory)[WORDS];
static size_t pages;
static _Atomic uint8_t *versions; /* of the contents of each page; odd while somebody writes or checks it */
static struct watch beating, mapping;
static _Atomic uint64_t beaten, passed, lost;
static atomic_int paused, ended;
static long nap_ns;
static pthread_rwlock_t whole = PTHREAD_RWLOCK_INITIALIZER; /* held for reading while a worker is at a page */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void nap(long ns)
{
    if (ns > 0)
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* How long this thread has waited for a processor so far; 0 where the kernel does not tell. */
static uint64_t waited_ns(const struct watch *watch)
{
    char text[64] = {0};
    unsigned long long waited = 0;
    if (watch->schedstat >= 0 && pread(watch->schedstat, text, sizeof text - 1, 0) > 0)
        sscanf(text, "%*u %llu", &waited);
    return waited;
}

static void raise_to(_Atomic uint64_t *worst, uint64_t value)
{
    uint64_t old = atomic_load(worst);
    while (old < value && !atomic_compare_exchange_weak(worst, &old, value))
        ;
}

static void begin(struct watch *watch)
{
    watch->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
    watch->waited_ns = waited_ns(watch);
}

/* One more beat, and when the one before was. */
static void note(struct watch *watch, uint64_t last_ns, uint64_t now_ns)
{
    uint64_t gap_ns = now_ns - last_ns;
    watch->beats++;
    if (gap_ns < INTERRUPTED_NS)
        return;
    uint64_t waited = waited_ns(watch), since = waited - watch->waited_ns;
    watch->waited_ns = waited;
    if (gap_ns < SUSPICIOUS_NS)
        return;
    size_t count = watch->count;
    if (count < MOST_GAPS) {
        watch->gaps[count] = (struct gap){last_ns, now_ns, since};
        watch->count = count + 1;
    } else {
        watch->missed++;
    }
    uint64_t stall_ns = gap_ns > since ? gap_ns - since : 0;
    raise_to(&watch->worst_gap_ns, gap_ns);
    raise_to(&watch->worst_stall_ns, stall_ns);
    watch->over_1ms += stall_ns > 1000000;
    watch->over_5ms += stall_ns > 5000000;
    watch->over_20ms += stall_ns > 20000000;
}

static uint64_t word_of(size_t page, uint8_t version, size_t word)
{
    return ((uint64_t)page << 20 | (uint64_t)version << 10 | word) * 0x9e3779b97f4a7c15u;
}

static void write_page(size_t page, uint8_t version)
{
    for (size_t word = 1; word < WORDS; word++)
        memory[page][word] = word_of(page, version, word);
}

static void check_page(size_t page, uint8_t version)
{
    for (size_t word = 1; word < WORDS; word++)
        if (memory[page][word] != word_of(page, version, word)) {
            atomic_fetch_add(&lost, 1);
            return;
        }
}

static void *beat(void *unused)
{
    uint64_t state = 88172645463325252u, last = now_ns();
    begin(&beating);
    while (!ended) {
        atomic_fetch_add_explicit((_Atomic uint64_t *)&memory[next(&state) % pages][0], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&beaten, 1, memory_order_relaxed);
        uint64_t now = now_ns();
        note(&beating, last, now);
        nap(nap_ns);
        last = nap_ns > 0 ? now_ns() : now;
    }
    return unused;
}

static void *map(void *unused)
{
    uint64_t last = now_ns();
    begin(&mapping);
    while (!ended) {
        char *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            abort();
        at[0] = 1;
        munmap(at, 1 << 16);
        uint64_t now = now_ns();
        note(&mapping, last, now);
        /* It is to notice pauses, not to take a processor from the others. */
        nap(nap_ns + 200000);
        /* Waking up late is not a pause of the memory. */
        mapping.waited_ns = waited_ns(&mapping);
        last = now_ns();
    }
    return unused;
}

static void *work(void *number)
{
    uint64_t state = 4101842887655102017u + 977 * (uintptr_t)number;
    while (!ended) {
        while (paused && !ended)
            sched_yield();
        size_t page = next(&state) % pages;
        pthread_rwlock_rdlock(&whole);
        uint8_t version = atomic_load(&versions[page]);
        if (!(version & 1) && atomic_compare_exchange_strong(&versions[page], &version, version | 1)) {
            check_page(page, version);
            write_page(page, version + 2);
            atomic_store(&versions[page], version + 2);
            atomic_fetch_add(&passed, 1);
        }
        pthread_rwlock_unlock(&whole);
        nap(nap_ns);
    }
    return NULL;
}

static void say_watch(const char *name, struct watch *watch)
{
    printf("\"%s\":{\"worst_gap_ms\":%.3f,\"worst_stall_ms\":%.3f,\"beats\":%llu,\"over_1ms\":%llu,\"over_5ms\":%llu,\"over_20ms\":%llu},",
           name, atomic_exchange(&watch->worst_gap_ns, 0) * 1e-6, atomic_exchange(&watch->worst_stall_ns, 0) * 1e-6,
           (unsigned long long)atomic_exchange(&watch->beats, 0), (unsigned long long)atomic_exchange(&watch->over_1ms, 0),
           (unsigned long long)atomic_exchange(&watch->over_5ms, 0), (unsigned long long)atomic_exchange(&watch->over_20ms, 0));
}

static uint64_t then, passed_then;

static void say(void)
{
    uint64_t now = now_ns(), passed_now = atomic_load(&passed);
    printf("{");
    say_watch("heartbeat", &beating);
    say_watch("mapper", &mapping);
    printf("\"pages_passed\":%llu,\"seconds\":%.6f,\"lost\":%llu}\n", (unsigned long long)(passed_now - passed_then),
           (now - then) * 1e-9, (unsigned long long)atomic_load(&lost));
    fflush(stdout);
    then = now, passed_then = passed_now;
}

static void say_gaps(const char *name, struct watch *watch, const char *end)
{
    const char *comma = "";
    printf("\"%s\":[", name);
    for (size_t all = watch->count; watch->said < all; watch->said++, comma = ",") {
        struct gap gap = watch->gaps[watch->said];
        printf("%s[%llu,%llu,%llu]", comma, (unsigned long long)gap.begin_ns, (unsigned long long)gap.end_ns,
               (unsigned long long)gap.waited_ns);
    }
    printf("]%s", end);
}

static void wait_for(_Atomic uint64_t *count, uint64_t more)
{
    uint64_t wanted = atomic_load(count) + more;
    while (atomic_load(count) < wanted)
        nap(1000000);
}

/* Every page as its last writer left it, and every beat there. */
static int check_all(void)
{
    paused = 1;
    pthread_rwlock_wrlock(&whole);
    for (size_t page = 0; page < pages; page++)
        check_page(page, versions[page]);
    pthread_rwlock_unlock(&whole);
    paused = 0;
    return atomic_load(&lost) == 0;
}

int main(int count, char **arguments)
{
    pthread_t beater, mapper, workers[MOST_WORKERS];
    char line[64];
    if (count < 3)
        return 2;
    size_t mib = strtoul(arguments[1], NULL, 10), working = strtoul(arguments[2], NULL, 10);
    if (count > 3)
        nap_ns = strtol(arguments[3], NULL, 10) * 1000;
    if (mib == 0 || working > MOST_WORKERS)
        return 2;
    pages = mib << 8;
    /* Small pages, whatever the machine's mode; afterwards nothing is said against huge ones. */
    prctl(PR_SET_THP_DISABLE, count <= 4 || strcmp(arguments[4], "open") != 0, 0, 0, 0);
    /* Whole blocks, with nothing next to them that the kernel could join them with. */
    size_t block = 2 << 20;
    char *reserved = mmap(NULL, (mib << 20) + 3 * block, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memory = (void *)(((uintptr_t)reserved + 2 * block - 1) / block * block);
    versions = calloc(pages, 1);
    if (reserved == MAP_FAILED || versions == NULL || mprotect(memory, mib << 20, PROT_READ | PROT_WRITE))
        return 1;
    for (size_t page = 0; page < pages; page++)
        write_page(page, 0);
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    if (pthread_create(&beater, NULL, beat, NULL) || pthread_create(&mapper, NULL, map, NULL))
        return 1;
    for (uintptr_t number = 0; number < working; number++)
        if (pthread_create(&workers[number], NULL, work, (void *)number))
            return 1;
    then = now_ns();
    printf("ready %d\n", getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        unsigned long long number = 0;
        if (sscanf(line, "beats %llu", &number) == 1) {
            wait_for(&beaten, number);
            say();
        } else if (sscanf(line, "pass %llu", &number) == 1) {
            wait_for(&passed, number);
            say();
        } else if (!strncmp(line, "gaps", 4)) {
            printf("{\"missed\":%zu,", atomic_load(&beating.missed) + atomic_load(&mapping.missed));
            say_gaps("heartbeat", &beating, ",");
            say_gaps("mapper", &mapping, "}\n");
            fflush(stdout);
        } else if (!strncmp(line, "check", 5)) {
            printf("{\"whole\":%s,\"lost\":%llu}\n", check_all() ? "true" : "false", (unsigned long long)atomic_load(&lost));
            fflush(stdout);
        } else {
            return 2;
        }
    }
    ended = 1;
    pthread_join(beater, NULL);
    pthread_join(mapper, NULL);
    for (size_t number = 0; number < working; number++)
        pthread_join(workers[number], NULL);
    uint64_t sum = 0;
    for (size_t page = 0; page < pages; page++)
        sum += memory[page][0];
    int whole_now = check_all() && sum == atomic_load(&beaten);
    printf("{\"whole\":%s,\"lost\":%llu,\"beats_lost\":%lld}\n", whole_now ? "true" : "false", (unsigned long long)atomic_load(&lost),
           (long long)(atomic_load(&beaten) - sum));
    return whole_now ? 0 : 3;
}
