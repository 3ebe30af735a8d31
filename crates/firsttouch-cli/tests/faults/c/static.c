// A static program: no loader, no agent; it runs as it is, with a warning.
//# once: there is no agent
//# requires: cc -static
//# run: --pages thp
//# expect: stdout=alone
//# expect: stderr~warning:
//# expect: stderr~--via supervise
//# expect: obtained=nothing
//# expect: shortfall=static-program
//# exec: --pages thp
//# expect: stdout=alone
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *block = malloc(8 << 20);
    memset(block, 1, 8 << 20);
    free(block);
    puts(getenv("LD_PRELOAD") || getenv("FIRSTTOUCH_AGENT") ? "the agent is in the environment" : "alone");
    return 0;
}
