/* Limits that a program sets itself, or that another process sets for it, in children: what fits without us fits. */
#include "torture.h"
#include <signal.h>
#include <sys/resource.h>

/* So much is allocated and mapped under a limit. */
static size_t unit_bytes(void)
{
    return options.budget / 16;
}

static void use(unsigned char *at, size_t bytes)
{
    CHECK(at != NULL);
    for (size_t page = 0; page < bytes; page += 64 * KIB)
        at[page] = 1;
}

/* What was freed serves others: mappings, and blocks again. */
static void alternate(size_t bytes)
{
    for (int round = 0; round < 3; round++) {
        unsigned char *block = malloc(unknown(bytes));
        use(block, bytes);
        free(block);
        unsigned char *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mapped != MAP_FAILED);
        use(mapped, bytes);
        CHECK(munmap(mapped, bytes) == 0);
    }
}

/* A child, which finds what it has of its parent's blocks; 0 in it. */
static pid_t begin_child(struct worker *worker)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        worker->depth++;
        worker->child_count = 0;
        enter_child(worker);
    }
    return child;
}

/* What a process does under a limit. */
static void work_within(struct worker *worker, size_t bytes) __attribute__((noreturn));
static void work_within(struct worker *worker, size_t bytes)
{
    check_all(worker);
    alternate(unit_bytes());
    errno = 0;
    CHECK(malloc(unknown(bytes + GIB)) == NULL && errno == ENOMEM);
    for (size_t i = 0; i < SLOTS; i++)
        if (worker->slots[i].at != NULL && worker->slots[i].bytes > MIB) {
            struct block *slot = &worker->slots[i];
            slot->at = realloc(slot->at, slot->bytes + 70 * KIB);
            CHECK(slot->at != NULL);
            check_prefix(slot, slot->bytes, 1);
            worker->live_bytes -= slot->bytes;
            free(slot->at);
            *slot = (struct block){0};
        }
    alternate(unit_bytes());
    check_all(worker);
    check_monuments();
    _exit(0);
}

static void limited(struct worker *worker, int resource, size_t (*within)(void))
{
    pid_t child = begin_child(worker);
    if (child == 0) {
        size_t bytes = within();
        struct rlimit limit = {bytes, bytes};
        CHECK(setrlimit((__rlimit_resource_t)resource, &limit) == 0);
        work_within(worker, bytes);
    }
    CHECK(end_of(child) == 0);
}

/* More than this program ever maps: with its blocks, the arenas of glibc and the stacks. */
static size_t space_bytes(void)
{
    return 2 * options.budget + 6 * GIB;
}

void op_limit_space(struct worker *worker)
{
    limited(worker, RLIMIT_AS, space_bytes);
}

/* Of what may be written: all blocks, all stacks, and two units. */
static size_t data_bytes(void)
{
    size_t stacks = (options.threads + 8) * 10 * MIB;
    return all_live_bytes() + stacks + 2 * unit_bytes() + 64 * MIB;
}

void op_limit_data(struct worker *worker)
{
    limited(worker, RLIMIT_DATA, data_bytes);
}

static void *touch_own_stack(void *value)
{
    volatile char *stack = __builtin_alloca(32 * KIB);
    for (size_t at = 0; at < 32 * KIB; at += PAGE)
        stack[at] = 1;
    return value;
}

/* What needs room first, once there is a limit that nobody told the process of. */
static void be_surprised(struct worker *worker)
{
    size_t bytes = unit_bytes(), alignment = HUGE_PAGE;
    unsigned char *at = NULL;
    switch (below(worker, options.single ? 5 : 6)) {
    case 0:
        use(at = malloc(unknown(bytes)), bytes);
        break;
    case 1:
        use(at = calloc(unknown(bytes), 1), bytes);
        break;
    case 2:
        use(at = aligned_alloc(unknown(alignment), bytes), bytes);
        break;
    case 3:;
        struct block *slot = some_block(worker);
        if (slot == NULL)
            break;
        slot->at = realloc(slot->at, unknown(slot->bytes + bytes));
        CHECK(slot->at != NULL);
        check_prefix(slot, slot->bytes, 1);
        break;
    case 4:;
        void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(mapped != MAP_FAILED);
        use(mapped, bytes);
        CHECK(munmap(mapped, bytes) == 0);
        break;
    case 5:;
        pthread_t thread;
        void *end;
        CHECK(pthread_create(&thread, NULL, touch_own_stack, worker) == 0);
        CHECK(pthread_join(thread, &end) == 0 && end == worker);
    }
    free(at);
}

static void limit_other(pid_t child, size_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    CHECK(prlimit(child, RLIMIT_AS, &limit, NULL) == 0);
}

/* The parent limits the child, which was not told, while it works or while it is stopped. Not while it is still in fork: in
 * handlers of fork the heap gives nothing up (docs/safety.md). */
void op_limit_other(struct worker *worker)
{
    size_t bytes = space_bytes(), looks = below(worker, 4);
    int at_work = (int)below(worker, 2), begun[2];
    char byte = 0;
    CHECK(pipe(begun) == 0);
    pid_t child = begin_child(worker);
    if (child == 0) {
        CHECK(write(begun[1], &byte, 1) == 1);
        if (at_work)
            alternate(unit_bytes());
        CHECK(raise(SIGSTOP) == 0);
        be_surprised(worker);
        work_within(worker, bytes);
    }
    while (read(begun[0], &byte, 1) != 1)
        CHECK(errno == EINTR);
    CHECK(close(begun[0]) == 0 && close(begun[1]) == 0);
    while (at_work && looks-- > 0)
        check_all(worker);
    if (at_work)
        limit_other(child, bytes);
    int status = 0;
    while (waitpid(child, &status, WUNTRACED) != child)
        CHECK(errno == EINTR);
    CHECK(WIFSTOPPED(status));
    limit_other(child, bytes);
    CHECK(kill(child, SIGCONT) == 0 && end_of(child) == 0);
}
