/* demoted: fills 64 MiB of malloc(3), and has the kernel reclaim most of what its control group has, which demotes it to slower memory. */
#include "group.h"

#define GROUP GROUPS "/demoted"
#define BYTES (64UL << 20)
#define RECLAIMED "48M"

int main(void) {
    enter_group(GROUP);
    set("/sys/kernel/mm/numa/demotion_enabled", "1");
    char *block = malloc(BYTES);
    if (!block)
        give_up("malloc");
    memset(block, 1, BYTES);
    set(GROUP "/memory.reclaim", RECLAIMED);
    for (size_t at = 0; at < BYTES; at += PAGE)
        if (block[at] != 1)
            give_up("lost");
    return 0;
}
