// What lies free between blocks, too small for those that come, is given back page by page: a program keeps within a tenth above its
// own peak, and within a control group that it fits into by itself. Blocks beside it keep what they hold.
//# requires: cgroup=128M
//# bare: 60
//# bare: 106
//# run: -- 60
//# run: -- 106
//# run: --pages 4k -- 60
//# run: --pages 4k -- 106
//# run: --pages 64k --quiet -- 106
//# run: --prefault -- 106
//# run: --zero -- 106
//# run: --heap -- 60
#include "check.h"

enum { MOST = 106, LARGER = 2200000 };

static size_t peak_bytes(void)
{
    return proc_bytes("/proc/self/status", "VmHWM:");
}

int main(int count, char **words)
{
    static char *blocks[MOST], *larger[MOST];
    CHECK(count == 2);
    size_t before = peak_bytes(), own = strtoul(words[1], NULL, 10);
    CHECK(own <= MOST);
    for (size_t i = 0; i < own; i++)
        blocks[i] = filled_block(MIB, i);
    size_t bytes = own * MIB, made = 0;
    for (size_t i = 0; i < own; i++)
        if (i % 3) {
            free(blocks[i]);
            bytes -= MIB;
        }
    for (; bytes + LARGER <= own * MIB; bytes += LARGER, made++)
        larger[made] = filled_block(LARGER, own + made);
    for (size_t i = 0; i < own; i += 3)
        CHECK(holds(blocks[i], MIB, i));
    for (size_t i = 0; i < made; i++)
        CHECK(holds(larger[i], LARGER, own + i));
    /* A tenth, and the huge pages that a block begins and ends in. */
    CHECK(peak_bytes() <= before + (own + own / 10 + 10) * MIB);
    return 0;
}
