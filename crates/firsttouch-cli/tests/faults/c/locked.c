// Memory that the program locks (mlock, mlockall): the kernel then refuses to give it back, and freed blocks that were
// locked must not come back from calloc with their old contents. Argument: how often, if not three times.
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

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 3;
    agent_trim = dlsym(RTLD_DEFAULT, "firsttouch_agent_trim");
    for (int round = 0; round < rounds; round++) {
        char *block = malloc(32 * MIB), *other = malloc(9 * MIB);
        CHECK(block != NULL && other != NULL);
        fill(block, 32 * MIB, 1);
        // A part, and never unlocked: free has always done that.
        CHECK(mlock(block + 5 * MIB, 10 * MIB) == 0);
        CHECK((block = realloc(block, 50 * MIB)) != NULL && holds(block, 32 * MIB, 1));
        memset(block, 0xff, 50 * MIB);
        free(block);
        again(50 * MIB);
        free(other);
        again(60 * MIB);
    }
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    for (int round = 0; round < rounds; round++) {
        char *block = malloc(32 * MIB);
        memset(block, 0xff, 32 * MIB);
        free(block);
        again(32 * MIB);
        again(40 * MIB);
    }
    return 0;
}
