// Memory that processes share is created at once when prefaulting is asked for, and only then; private memory and what is
// merely reserved never are.
//# bare: 0
//# run: --pages thp -- 0
//# run: --pages thp --prefault -- 64
//# run: --pages thp --prefault --min-size 128M -- 0
//# run: --pages thp --prefault --max-size 32M -- 0
//# run: --pages plain --threads compact -- 0
#include "check.h"

static const size_t bytes = 64 * MIB;

// MiB of a new mapping that are in memory.
static size_t present(int flags)
{
    static unsigned char pages[64 * MIB / 4096];
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK(mincore(memory, bytes, pages) == 0);
    size_t count = 0;
    for (size_t page = 0; page < sizeof pages; page++)
        count += pages[page] & 1;
    CHECK(is_zero(memory, bytes));
    CHECK(munmap(memory, bytes) == 0);
    return count * 4096 / MIB;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    const size_t expected = strtoul(words[1], NULL, 10);
    CHECK(present(MAP_SHARED) == expected);
    CHECK(present(MAP_SHARED | MAP_NORESERVE) == 0);
    CHECK(present(MAP_PRIVATE) == 0);
    // What the kernel refuses, it refuses as ever.
    errno = 0;
    CHECK(mmap(NULL, 0, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    return 0;
}
