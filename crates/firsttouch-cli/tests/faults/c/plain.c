// A program with nothing special about it, for the cases.
#include "check.h"

int main(void)
{
    char *block = filled_block(8 * MIB, 1);
    CHECK(holds(block, 8 * MIB, 1));
    free(block);
    dprintf(1, "%s, user %s\n", getenv("LD_PRELOAD") ? "with the agent" : "alone", geteuid() == getuid() ? "the same" : "another");
    return 0;
}
