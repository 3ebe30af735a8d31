// malloc_trim gives back all that is held for reuse, between blocks as well; the blocks stay.
//# bare:
//# run:
//# run: --pages 4k
//# exec: --heap
#include "check.h"

enum { COUNT = 90 };

int main(void)
{
    static char *blocks[COUNT];
    char *large = filled_block(100 * MIB, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = filled_block(MIB, i);
    size_t peak = proc_bytes("/proc/self/status", "VmRSS:");
    free(large);
    for (size_t i = 0; i < COUNT; i++)
        if (i % 3)
            free(blocks[i]);
    errno = 77;
    malloc_trim(0);
    CHECK(errno == 77);
    /* All but the huge pages' parts that others share. */
    CHECK(proc_bytes("/proc/self/status", "VmRSS:") <= peak - 150 * MIB);
    for (size_t i = 0; i < COUNT; i += 3)
        CHECK(holds(blocks[i], MIB, i));
    return 0;
}
