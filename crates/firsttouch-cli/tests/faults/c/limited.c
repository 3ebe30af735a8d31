// Limits that the program, or another process, sets while it runs: what we reserve and hold for reuse must never make a
// call fail that works without us.
//# once: what a limit allows
//# requires: root
//# bare:
//# exec: --pages thp
//# exec: --pages thp --min-size 64K
//# exec: --pages thp --prefault
//# exec: --pages 4k
//# exec: --pages 64k
//# exec: --pages 2m
//# run: --pages auto
#include "check.h"
#include <sys/resource.h>
#include <sys/syscall.h>

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void use(size_t bytes)
{
    char *block = MADE(malloc(bytes));
    touch(block, bytes);
    free(block);
}

/* By a system call that no function of a limit's name makes. */
static void address_space(void)
{
    char *block = filled_block(30 * MIB, 2);
    struct rlimit limit = {500 * MIB, 500 * MIB};
    CHECK(syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL) == 0);
    CHECK(map(100 * MIB) != MAP_FAILED);
    use(200 * MIB);
    CHECK(holds(block, 30 * MIB, 2));
}

static void data(void)
{
    struct rlimit limit = {500 * MIB, 500 * MIB};
    use(300 * MIB);
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    for (int i = 0; i < 3; i++) {
        use(300 * MIB);
        void *mapped = map(300 * MIB);
        CHECK(mapped != MAP_FAILED && munmap(mapped, 300 * MIB) == 0);
    }
}

/* The parent limits the child. */
static void from_outside(void)
{
    int tell[2], told[2];
    char byte = 0;
    CHECK(pipe(tell) == 0 && pipe(told) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        use(20 * MIB);
        CHECK(write(tell[1], "x", 1) == 1 && read(told[0], &byte, 1) == 1);
        CHECK(map(100 * MIB) != MAP_FAILED);
        use(100 * MIB);
        _exit(0);
    }
    CHECK(read(tell[0], &byte, 1) == 1);
    struct rlimit limit = {500 * MIB, 500 * MIB};
    CHECK(prlimit(child, RLIMIT_AS, &limit, NULL) == 0);
    CHECK(write(told[1], "x", 1) == 1 && end_of(child) == 0);
}

static void locked(void)
{
    struct rlimit limit = {8 * MIB, 8 * MIB};
    CHECK(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    char *block = malloc(3 * MIB);
    CHECK(block != NULL && mlock(block, 3 * MIB) == 0);
    free(block);
    block = map(7 * MIB);
    CHECK(block != MAP_FAILED && mlock(block, 7 * MIB) == 0 && munmap(block, 7 * MIB) == 0);
    use(2 * MIB);
    CHECK(mlockall(MCL_CURRENT) == 0);
}

/* The child of vfork limits itself, and shares our memory: it may not be us whom that concerns. */
static void in_vfork(void)
{
    char *before = malloc(2 * MIB);
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit limit = {500 * MIB, 500 * MIB};
        _exit(setrlimit(RLIMIT_AS, &limit));
    }
    CHECK(end_of(child) == 0);
    /* Still recycled, or still not. */
    char *block = malloc(9 * MIB);
    memset(block, 1, 9 * MIB);
    uintptr_t at = (uintptr_t)block;
    free(block);
    block = malloc(9 * MIB);
    CHECK(at >> 45 != 1 || (uintptr_t)block == at);
    free(before);
}

int main(void)
{
    void (*each[])(void) = {address_space, data, from_outside, locked, in_vfork};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        IN_CHILD(i, each[i]());
    return 0;
}
