// Memory that processes share is created at once when prefaulting is asked for, and only then; private memory and what is
// merely reserved never are, and what is to lie low does. It is huge where that was asked, whatever the kernel's setting for shared memory is.
// From MADV_POPULATE_WRITE (Linux 5.14) on, and huge from MADV_COLLAPSE (6.1) on.
// Arguments: MiB in memory, MiB huge, and MiB in all, if not 65.
//# bare: 0 0
//# emulated: 0 0 17
//# run: --pages thp -- 0 0
//# emulated: 0 0 17
//# run: --pages thp --prefault -- 65 64
//# emulated: 17 16 17
//# where: linux>=6.1
//# run: --pages 4k --prefault -- 65 0
//# emulated: 17 0 17
//# where: linux>=5.14
//# run: --pages thp --prefault --min-size 128M -- 0 0
//# emulated: 0 0 17
//# run: --pages thp --prefault --max-size 16M -- 0 0
//# emulated: 0 0 17
//# run: --pages plain --threads compact -- 0 0
//# emulated: 0 0 17
#include "check.h"

static size_t bytes = 65 * MIB;

// MiB of a new mapping that are in memory, and that are huge pages.
static void expect(int flags, size_t present, size_t huge)
{
    static unsigned char pages[65 * MIB / 4096];
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK(mincore(memory, bytes, pages) == 0);
    size_t count = 0;
    for (size_t page = 0; page < bytes / 4096; page++)
        count += pages[page] & 1;
    CHECK(count * 4096 == present * MIB);
    CHECK(proc_bytes("/proc/self/smaps_rollup", "ShmemPmdMapped:") == huge * MIB);
    CHECK(is_zero(memory, bytes));
    fill(memory, bytes, 3);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(holds(memory, bytes, 3));
        fill(memory, bytes, 4);
        _exit(0);
    }
    CHECK(end_of(child) == 0);
    CHECK(holds(memory, bytes, flags & MAP_SHARED ? 4 : 3));
    CHECK(munmap(memory, bytes) == 0);
}

int main(int count, char **words)
{
    CHECK(count >= 3);
    if (count > 3)
        bytes = strtoul(words[3], NULL, 10) * MIB;
    expect(MAP_SHARED, strtoul(words[1], NULL, 10), strtoul(words[2], NULL, 10));
    expect(MAP_SHARED | MAP_NORESERVE, 0, 0);
    expect(MAP_PRIVATE, 0, 0);
    // What is to be at no address, which only root may have, is nowhere else.
    char *null = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(null == MAP_FAILED || (null == NULL && munmap(null, bytes) == 0));
#ifdef MAP_32BIT
    char *low = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    CHECK(low != MAP_FAILED && (uintptr_t)low + bytes <= 2 * GIB && munmap(low, bytes) == 0);
#endif
    // What the kernel refuses, it refuses as ever, and an address that is asked for is the address.
    errno = 0;
    CHECK(mmap(NULL, 0, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == EINVAL);
    char *here = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mmap(here + 4096, 16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == here + 4096);
    return 0;
}
