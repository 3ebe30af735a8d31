// What the kernel refuses for reasons that are not ours (a mapping that cannot grow where it is, more than the machine has) costs the
// program nothing that is held for reuse, and nothing later. Where a limit is why nothing is held any more, the receipt says so.
//# once: what is refused
//# requires: overcommit=0
//# expect: stdout=done
//# bare: in-place
//# run: --pages thp -- in-place
//# expect: recycled>=150M
//# run: --pages 4k -- in-place
//# expect: recycled>=150M
//# run: --pages thp -- too-much
//# expect: recycled>=150M
//# run: --pages thp -- protected
//# expect: recycled>=150M
//# run: --pages thp -- limited
//# expect: note~not held for reuse
#include "check.h"
#include <sys/resource.h>
#include <sys/sysinfo.h>

enum { ROUNDS = 20, BYTES = 10 << 20 };

static void *mapped(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void refuse(const char *what)
{
    struct sysinfo about;
    CHECK(sysinfo(&about) == 0);
    if (!strcmp(what, "in-place")) {
        char *pages = mapped(3 * 4096);
        CHECK(pages != MAP_FAILED && mremap(pages, 4096, 2 * 4096, 0) == MAP_FAILED && errno == ENOMEM);
    } else if (!strcmp(what, "too-much")) {
        CHECK(mapped(2 * (about.totalram + about.totalswap) * about.mem_unit) == MAP_FAILED && errno == ENOMEM);
    } else if (!strcmp(what, "protected")) {
        char *pages = mapped(3 * 4096);
        CHECK(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
        CHECK(mprotect(pages, 3 * 4096, PROT_READ) == -1 && errno == ENOMEM);
    } else {
        struct rlimit limit = {GIB, RLIM_INFINITY};
        CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    }
}

int main(int count, char **words)
{
    CHECK(count == 2);
    for (int round = 0; round < ROUNDS; round++) {
        char *block = filled_block(BYTES, round);
        free(block);
        if (round == 0)
            refuse(words[1]);
    }
    puts("done");
    return 0;
}
