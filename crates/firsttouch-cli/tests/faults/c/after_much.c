// What was there once, and is there no more, counts neither against a limit of data nor as locked: the agent keeps tables of the memory
// that it has placed.
//# once: once there was much
//# requires: root
//# bare:
//# run: --pages thp
//# run: --pages 4k
#include "check.h"
#include <sys/resource.h>

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* A part of the tables of what there was: 6 MiB a GiB. */
static const size_t ROOM = 3 * MIB;

static size_t counted(const char *as)
{
    return proc_bytes("/proc/self/status", as);
}

static void have_much(void)
{
    void *volatile block = MADE(malloc(768 * MIB));
    free(block);
}

static void use(size_t bytes)
{
    char *block = filled_block(bytes, 1);
    CHECK(holds(block, bytes, 1));
    free(block);
}

static void data(void)
{
    struct rlimit limit = {counted("VmData:") + ROOM, RLIM_INFINITY};
    have_much();
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    CHECK(map(ROOM - MIB) != MAP_FAILED);
    /* And large blocks come as before. */
    limit.rlim_cur += 40 * MIB;
    CHECK(setrlimit(RLIMIT_DATA, &limit) == 0);
    use(20 * MIB);
    use(30 * MIB);
}

static void locked(void)
{
    have_much();
    CHECK(mlockall(MCL_CURRENT) == 0);
    CHECK(counted("VmData:") < ROOM);
    use(20 * MIB);
}

int main(void)
{
    /* The C library's own heap begins at the first small block, on arm64 (glibc 2.43) with 2 MiB: it is there before anything is counted. */
    free(MADE(malloc(1)));
    void (*each[])(void) = {data, locked};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        IN_CHILD(i, each[i]());
    return 0;
}
