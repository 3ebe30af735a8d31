// Memory that the program locks (mlock, mlockall): the kernel then refuses to give it back, and freed blocks that were
// locked must not come back from calloc with their old contents. What is locked with all the rest is the program's own memory, and
// none of ours, wherever it has its blocks from by then. Argument: how often, if not three times.
//# requires: root
//# bare:
//# emulated: 1
//# run: --pages thp
//# emulated: 1
//# expect: complete=true
//# run: --pages 4k
//# emulated: 1
//# run: --pages auto --prefault
//# emulated: 1
#include "check.h"
#include <dlfcn.h>

static void (*agent_trim)(void);

static void again(size_t bytes)
{
    if (agent_trim != NULL)
        agent_trim();
    char *clean = calloc(1, bytes);
    CHECK(clean != NULL && is_zero(clean, bytes));
    memset(clean, 0xee, bytes);
    free(clean);
}

static void lock_all(void)
{
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    CHECK(proc_bytes("/proc/self/status", "VmLck:") < GIB / 2);
}

/* A program that has no large block yet. */
static void lock_first(void)
{
    IN_CHILD(0, {
        lock_all();
        char *block = filled_block(16 * MIB, 1);
        CHECK(holds(block, 16 * MIB, 1) && proc_bytes("/proc/self/status", "VmLck:") < GIB / 2);
        free(block);
        again(16 * MIB);
    });
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3;
    agent_trim = dlsym(RTLD_DEFAULT, "firsttouch_agent_trim");
    lock_first();
    for (int round = 0; round < rounds; round++) {
        char *block = malloc(16 * MIB), *other = malloc(5 * MIB);
        CHECK(block != NULL && other != NULL);
        fill(block, 16 * MIB, 1);
        // A part, and never unlocked: free has always done that.
        CHECK(mlock(block + 5 * MIB, 10 * MIB) == 0);
        CHECK((block = realloc(block, 25 * MIB)) != NULL && holds(block, 16 * MIB, 1));
        memset(block, 0xff, 25 * MIB);
        free(block);
        again(25 * MIB);
        free(other);
        again(30 * MIB);
    }
    lock_all();
    for (int round = 0; round < rounds; round++) {
        char *block = malloc(16 * MIB);
        memset(block, 0xff, 16 * MIB);
        free(block);
        again(16 * MIB);
        again(20 * MIB);
    }
    return 0;
}
