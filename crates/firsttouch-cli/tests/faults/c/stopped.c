// A thread that a handler of a signal has stopped inside malloc, as collectors of garbage stop all threads: who had it stopped
// allocates, resizes, frees and changes mappings meanwhile, and loses nothing; and a copy of the process that it makes may limit its address
// space. (It cannot fork: glibc waits for its own locks.) Arguments: how often, and whether it only makes copies: of pages of a pool no
// parts can be protected.
//# requires: pool2m=16
//# bare: 30
//# emulated: 4
//# run: --pages thp -- 30
//# emulated: 4
//# expect: complete=true
//# run: --pages 4k -- 30
//# emulated: 4
//# run: --pages thp --prefault=background -- 20
//# emulated: 4
//# run: --pages 2m -- 30 copies
//# emulated: 4 copies
#include "copy.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>

enum { KEPT = 700 };

static sem_t stopped;

static void stop(int signal)
{
    (void)signal;
    int error = errno;
    sem_post(&stopped);
    sigset_t all_but_one;
    sigfillset(&all_but_one);
    sigdelset(&all_but_one, SIGUSR2);
    sigsuspend(&all_but_one);
    errno = error;
}

static void go_on(int signal)
{
    (void)signal;
}

static void *allocate(void *unused)
{
    for (;;) {
        char *block = MADE(malloc(3 * MIB));
        block[0] = 1;
        CHECK((block = realloc(block, 5 * MIB)) != NULL && block[0] == 1);
        free(block);
    }
    return unused;
}

static char *new_block(unsigned seed)
{
    char *block = malloc(2 * MIB);
    CHECK(block != NULL && malloc_usable_size(block) >= 2 * MIB);
    fill(block, 2 * MIB, seed);
    return block;
}

/* As much as fits, where nothing but what the process has counts. */
static void work_within_limit(char *kept, unsigned round)
{
    struct rlimit limit = {4 * GIB, 4 * GIB};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    char *mapped = mmap(NULL, GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(mapped != MAP_FAILED && is_zero(mapped, MIB));
    char *block = new_block(round);
    CHECK(holds(block, 2 * MIB, round) && holds(kept, 2 * MIB, round));
    fill(kept, 2 * MIB, round + 1);
    CHECK(holds(kept, 2 * MIB, round + 1));
    free(block);
}

/* Its copy is a whole process, and so is a copy of that. */
static void copy_twice(char *kept, unsigned round)
{
    pid_t child = copy(round % 2);
    if (child == 0) {
        pid_t next = copy(round % 2);
        work_within_limit(kept, round);
        if (next == 0)
            _exit(0);
        _exit(end_of(next));
    }
    CHECK(end_of(child) == 0);
}

/* What a collector does while nobody else runs. */
static void collect(unsigned round, char **kept)
{
    char *clean = calloc(3, MIB);
    CHECK(clean != NULL && is_zero(clean, 3 * MIB));
    clean[0] = 1;
    free(clean);
    CHECK(holds(*kept, 2 * MIB, round));
    char *larger = realloc(*kept, 4 * MIB);
    CHECK(larger != NULL && holds(larger, 2 * MIB, round));
    char *page = larger + (-(uintptr_t)larger & 4095);
    CHECK(mprotect(page, MIB, PROT_READ) == 0 && holds(larger, 2 * MIB, round));
    CHECK(mprotect(page, MIB, PROT_READ | PROT_WRITE) == 0);
    CHECK(madvise(page, MIB, MADV_DONTNEED) == 0 && is_zero(page, MIB));
    free(larger);
    *kept = new_block(round + 1);
}

int main(int count, char **arguments)
{
    int only_copies = count > 2;
    unsigned rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 20;
    CHECK(sem_init(&stopped, 0, 0) == 0);
    struct sigaction action = {.sa_handler = stop};
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    action.sa_handler = go_on;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    char *kept = new_block(0);
    static char *many[KEPT];
    for (unsigned i = 0; i < KEPT; i++)
        CHECK((many[i] = malloc(MIB)) != NULL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    alarm(LIMIT_S);
    for (unsigned round = 0; round < rounds; round++) {
        CHECK(pthread_kill(thread, SIGUSR1) == 0);
        while (sem_wait(&stopped) != 0)
            CHECK(errno == EINTR);
        copy_twice(kept, round);
        if (only_copies)
            fill(kept, 2 * MIB, round + 1);
        else
            collect(round, &kept);
        /* More than one page of notes has room for, while it is stopped. */
        if (round == 0)
            for (unsigned i = 0; i < KEPT; i++)
                free(many[i]);
        CHECK(pthread_kill(thread, SIGUSR2) == 0);
        sched_yield();
    }
    CHECK(holds(kept, 2 * MIB, rounds));
    _exit(0);
}
