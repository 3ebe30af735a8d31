// Blocks whose mapping the program changed, by every call there is for it, also ones that nobody sees, and freed so: glibc
// would have unmapped them. The next owner must have ordinary memory, and the first owner's files must stay as they are.
// Argument: how often, if not twice.
//# once: mappings
//# requires: root
//# bare:
//# emulated: 1
//# run: --pages thp
//# emulated: 1
//# run: --pages thp --min-size 64K
//# emulated: 1
//# run: --pages thp --prefault
//# emulated: 1
//# run: --pages 4k
//# emulated: 1
//# run: --pages 64k
//# emulated: 1
//# run: --pages auto
//# emulated: 1
#include "check.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
enum { BYTES = 4 * 1024 * 1024, PART = 2 * 1024 * 1024 };

/* A system call by its instruction: no library knows of it. */
static long raw(long number, long a, long b, long c, long d, long e, long f)
{
#if defined __x86_64__
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    long answer;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return answer;
#else
    return syscall(number, a, b, c, d, e, f);
#endif
}

static int file(void)
{
    FILE *made = tmpfile();
    CHECK(made != NULL);
    CHECK(ftruncate(fileno(made), BYTES) == 0);
    return fileno(made);
}

static long locked_kib(void)
{
    long kib = -1;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "VmLck: %ld", &kib) == 1)
            break;
    if (status != NULL)
        fclose(status);
    return kib;
}

static int opened = -1;

static void map_file(char *block)
{
    opened = file();
    CHECK(mmap(block, BYTES, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, opened, 0) == block);
    memset(block, 1, 100);
}
static void map_file_unseen(char *block)
{
    opened = file();
    CHECK(raw(SYS_mmap, (long)block, BYTES, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, opened, 0) == (long)block);
    memset(block, 1, 100);
}
static void map_part_of_file(char *block)
{
    opened = file();
    CHECK(mmap(block + 4096, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, opened, 0) == block + 4096);
    memset(block + 4096, 1, 100);
}
static void map_shared(char *block)
{
    CHECK(mmap(block, BYTES, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS, -1, 0) == block);
}
static void unmap(char *block) { CHECK(munmap(block, BYTES) == 0); }
static void unmap_part(char *block) { CHECK(munmap(block + MIB, PART) == 0); }
static void unmap_unseen(char *block) { CHECK(raw(SYS_munmap, (long)(block + MIB), PART, 0, 0, 0, 0) == 0); }
static void move_away(char *block)
{
    char *moved = mremap(block, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, (char *)0x100000000000 + BYTES);
    /* Where the block is several mappings, older kernels refuse. */
    if (moved != MAP_FAILED)
        CHECK(munmap(moved, BYTES) == 0);
}
static void forbid(char *block) { CHECK(mprotect(block, 4096, PROT_NONE) == 0); }
static void forbid_by_number(char *block) { CHECK(syscall(SYS_mprotect, block, 4096, PROT_NONE) == 0); }
static void forbid_unseen(char *block) { CHECK(raw(SYS_mprotect, (long)block, BYTES, PROT_NONE, 0, 0, 0) == 0); }
static void forbid_part_unseen(char *block)
{
    CHECK(raw(SYS_mprotect, (long)(block + BYTES - 4096), 4096, PROT_READ, 0, 0, 0) == 0);
}
static void lock(char *block) { CHECK(mlock(block, BYTES) == 0); }
static void guard(char *block)
{
    if (madvise(block + 4096, 4096, MADV_GUARD_INSTALL) != 0)
        CHECK(errno == EINVAL);
}
/* Linux before 6.13 gives a process no such advice about itself. */
static void guard_as_another(char *block)
{
    struct iovec part = {block + 4096, 4096};
    int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
    CHECK(process >= 0);
    if (syscall(SYS_process_madvise, process, &part, 1, MADV_GUARD_INSTALL, 0) < 0)
        CHECK(errno == EINVAL || errno == ENOSYS);
    CHECK(close(process) == 0);
}
static void bind_pages(char *block)
{
    unsigned long nodes = 1;
    if (syscall(SYS_mbind, block, PART, 2 /* MPOL_BIND */, &nodes, 64, 0) != 0)
        CHECK(errno == ENOSYS || errno == EPERM);
}
static void watch(char *block)
{
    long handle = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (handle < 0)
        return;
    struct uffdio_api interface = {.api = UFFD_API};
    CHECK(ioctl((int)handle, UFFDIO_API, &interface) == 0);
    struct uffdio_register range = {
        .range = {.start = (uintptr_t)block, .len = BYTES}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    CHECK(ioctl((int)handle, UFFDIO_REGISTER, &range) == 0);
    /* The pages are gone, and whoever touches them waits for the handle. */
    CHECK(madvise(block, BYTES, MADV_DONTNEED) == 0);
}
static void attach_segment(char *block)
{
    int segment = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
    CHECK(segment >= 0 && shmat(segment, block, SHM_REMAP) == block);
    CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
}

static char *make(void)
{
    char *block = MADE(aligned_alloc(4096, BYTES));
    fill(block, BYTES, 1);
    return block;
}

/* Memory of the process alone, readable and writable, which its children have as well. */
static void check_next(int seed)
{
    char *blocks[3];
    for (int i = 0; i < 3; i++) {
        blocks[i] = i == 1 ? calloc(1, BYTES) : aligned_alloc(4096, BYTES);
        CHECK(blocks[i] != NULL);
        CHECK(i != 1 || is_zero(blocks[i], BYTES));
        fill(blocks[i], BYTES, seed + i);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int i = 0; i < 3; i++) {
            CHECK(holds(blocks[i], BYTES, seed + i));
            for (size_t at = 0; at < BYTES; at += MIB / 4)
                blocks[i][at] = 1;
        }
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(holds(blocks[i], BYTES, seed + i));
        free(blocks[i]);
    }
    if (opened >= 0) {
        char first[4096];
        CHECK(pread(opened, first, sizeof first, 0) == sizeof first);
        CHECK(first[0] == 1 && first[99] == 1 && is_zero(first + 100, sizeof first - 100));
        opened = -1;
    }
}

int main(int count, char **arguments)
{
    int rounds = count > 1 ? atoi(arguments[1]) : 2;
    void (*changes[])(char *) = {map_file,         map_file_unseen,    map_part_of_file, map_shared, unmap,
                                 unmap_part,       unmap_unseen,       move_away,        forbid,     forbid_by_number,
                                 forbid_unseen,    forbid_part_unseen, lock,             guard,      guard_as_another,
                                 bind_pages,       watch,              attach_segment};
    enum { CHANGES = sizeof changes / sizeof *changes };
    long locked = locked_kib();
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < CHANGES; i++) {
            dprintf(1, "%d\n", i);
            char *before = make(), *block = make(), *after = make();
            changes[i](block);
            free(block);
            check_next(10 * i);
            CHECK(holds(before, BYTES, 1) && holds(after, BYTES, 1));
            free(before);
            free(after);
        }
    CHECK(locked_kib() == locked);
    return 0;
}
