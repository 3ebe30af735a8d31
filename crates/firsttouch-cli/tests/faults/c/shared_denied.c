// Memory that processes share has a switch of its own for huge pages: where that denies them, the receipt says so.
//# requires: root
//# requires: thp=madvise
//# requires: shmem=deny
//# run: --pages thp --prefault
//# where: linux>=5.14
//# expect: complete=true
//# expect: shortfall=shared-thp-never>=32M
//# run: --pages 4k --prefault
//# expect: absent=shared-thp-never
#include "check.h"

int main(void)
{
    char *memory = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    fill(memory, 32 * MIB, 1);
    CHECK(holds(memory, 32 * MIB, 1));
    CHECK(proc_bytes("/proc/self/smaps_rollup", "ShmemPmdMapped:") == 0);
    return 0;
}
