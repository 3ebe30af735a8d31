// A control group of 40 MiB, in which a program touches little of more: how much there is, is asked before huge pages have filled it.
//# requires: cgroup=40M
//# run: -- 60
//# expect: shortfall=sparse-use>=1M where thp
//# run: --prefault -- 60
//# exec: --pages auto --follow -- 60
//# exec: -- 20
//# exec: --prefault -- 20
#include "check.h"

int main(int count, char **words)
{
    size_t bytes = (count > 1 ? atoi(words[1]) : 1) * MIB;
    // In blocks of which each would fit.
    char *blocks[4];
    for (int i = 0; i < 4; i++) {
        CHECK((blocks[i] = malloc(bytes / 4)) != NULL);
        for (size_t at = 0; at < bytes / 4; at += 2 * MIB)
            blocks[i][at] = i;
    }
    for (int i = 0; i < 4; i++)
        CHECK(blocks[i][0] == i);
    return 0;
}
