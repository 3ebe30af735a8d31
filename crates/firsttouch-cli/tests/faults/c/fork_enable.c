// The agent is switched on by one thread while another forks (forker.h).
//# build: -pthread -rdynamic -ldl
//# bare:
//# exec:
//# inside: unset FIRSTTOUCH_AGENT; exec "$@"
//# expect: stdout=loaded
#include "forker.h"

static int (*enable)(const char *, uint64_t, uint64_t);

static void use(void)
{
    CHECK(enable == NULL || enable("thp", MIB, SIZE_MAX) == 0);
    char *block = calloc(3, MIB);
    CHECK(block != NULL && is_zero(block, 3 * MIB));
    free(block);
}

int main(void)
{
    *(void **)&enable = dlsym(RTLD_DEFAULT, "firsttouch_agent_enable");
    use_while_forking();
    if (enable != NULL)
        puts("loaded");
    return 0;
}
