// A 32-bit program: the agent cannot be loaded into it, so it runs as it is, with a warning and without noise from the
// loader.
//# once: there is no agent
//# requires: cc -m32
//# run: --pages thp
//# expect: stdout=4 bytes a pointer
//# expect: stderr~warning:
//# expect: obtained=nothing
//# expect: shortfall=foreign-architecture
//# exec: --pages thp
//# expect: stdout=4 bytes a pointer
//# run: --strict
//# expect: exit=125
//# expect: stderr~error:
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *block = malloc(8 << 20);
    memset(block, 1, 8 << 20);
    free(block);
    printf("%zu bytes a pointer\n", sizeof block);
    if (getenv("LD_PRELOAD") != NULL || getenv("FIRSTTOUCH_AGENT") != NULL)
        puts("the agent is in the environment");
    return 0;
}
