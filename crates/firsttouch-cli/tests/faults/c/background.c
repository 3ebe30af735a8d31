// Pages of large blocks that a thread creates in the background: all of them, without a touch; none of a block that is freed; contents
// stay as the program wrote them, whatever becomes of the block meanwhile; a fork takes no thread with it, by whatever call it is made;
// none where the program has changed what is there meanwhile; what the thread opens, or a thread of the program's that allocates, is
// not among the program's files, and not at every block. Arguments: what, and how often, if not some tens of times.
//# once: threads
//# bare: resized
//# emulated: resized 6
//# run: --pages thp --prefault=background -- created
//# where: linux>=5.14
//# expect: pages=2m>=98% where thp
//# run: --pages 4k --prefault=background -- created
//# where: linux>=5.14
//# run: --pages thp --prefault=background -- resized
//# emulated: resized 6
//# where: linux<5.14
//# expect: note~no pages were created ahead of the program
//# run: --pages thp --prefault -- resized
//# emulated: resized 6
//# where: linux<5.14
//# expect: note~no pages were created ahead of the program
//# run: --pages thp --prefault=background -- freed
//# emulated: freed 20
//# run: --pages 4k --prefault=background -- freed
//# emulated: freed 20
//# run: --pages thp --prefault=background -- resized
//# emulated: resized 6
//# run: --pages 4k --prefault=background --min-size 64K -- resized
//# emulated: resized 6
//# run: --pages 2m --quiet --prefault=background -- resized
//# emulated: resized 6
//# run: --pages thp --prefault=background -- forked
//# emulated: forked 6
//# run: --pages thp --prefault=background -- copied
//# emulated: copied 6
//# exec: --pages thp --prefault=background -- ended
//# expect: stdout=the end was seen
//# exec: --pages thp --prefault=background -- real_time
//# where: root linux>=5.14
//# run: --pages thp --prefault=background -- vforked
//# emulated: vforked 6
//# run: --pages thp --prefault=background -- changed
//# emulated: changed 2
//# run: --pages 4k --prefault=background -- changed
//# emulated: changed 2
//# run: --pages thp --prefault=background -- files
//# emulated: files 4
//# run: --pages 4k --prefault=background -- files
//# emulated: files 4
//# bare: files_of_two
//# exec: --pages thp -- files_of_two
//# emulated: files_of_two 20
//# exec: --pages 4k -- files_of_two
//# emulated: files_of_two 20
//# bare: seldom_read
//# exec: --pages 4k -- seldom_read
//# emulated: seldom_read 400
#include "copy.h"
#include <dirent.h>
#include <dlfcn.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Whether no page of this range, of so many, or every one of them is there. */
static int has_pages(const char *block, size_t bytes, int all)
{
    static unsigned char is_there[256 * MIB / 4096];
    size_t pages = bytes / 4096, first = (uintptr_t)block / 4096 * 4096;
    CHECK(pages <= sizeof is_there);
    CHECK(mincore((void *)first, pages * 4096, is_there) == 0);
    for (size_t page = 0; page < pages; page++)
        if ((is_there[page] & 1) != all)
            return 0;
    return 1;
}

static int threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

/* Until the thread has created all that it is to create, and is gone. */
static void await_the_end(void)
{
    for (double limit = now_s() + LIMIT_S; threads() > 1; sched_yield())
        CHECK(now_s() < limit);
}

static char *made(size_t bytes)
{
    char *block = MADE(malloc(bytes));
    return block;
}

/* What the thread leaves to the program at the beginning, and at the end. */
enum { FIRST = 4 << 20, LAST = 2 << 20 };

static void created(unsigned unused)
{
    (void)unused;
    char *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = made((16 + 8 * i) * MIB);
    await_the_end();
    for (int i = 0; i < 4; i++) {
        size_t bytes = (16 + 8 * i) * MIB, middle = bytes - FIRST - LAST;
        CHECK(has_pages(blocks[i] + FIRST, middle, 1));
        /* Not the edges: what is read first has no huge page at its first write before Linux 6.13. */
        CHECK(is_zero(blocks[i] + FIRST, middle));
        fill(blocks[i], bytes, i);
    }
    for (int i = 0; i < 4; i++)
        CHECK(holds(blocks[i], (16 + 8 * i) * MIB, i));
}

/* By the kernel's count: a sum over the mappings (`smaps_rollup`) leaves some out on Linux 6.1, where a thread changes others meanwhile. */
static size_t resident(void)
{
    return proc_bytes("/proc/self/status", "VmRSS:");
}

static void freed(unsigned rounds)
{
    void (*trim)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "firsttouch_agent_trim");
    CHECK(trim != NULL);
    for (unsigned round = 0; round < rounds; round++) {
        char *block = made(128 * MIB);
        /* Now at its beginning, now later, now after its end. */
        for (double until = now_s() + round * 0.4e-3; now_s() < until;)
            ;
        if (round % 10 == 9)
            await_the_end();
        free(block);
        /* From now on nobody creates a page in it: what the heap holds stays as small as it is, and what it has given back is nobody's. */
        size_t before = resident();
        for (double until = now_s() + 5e-3; now_s() < until;)
            ;
        CHECK(resident() < before + 4 * MIB);
        trim();
        CHECK(resident() < 48 * MIB);
    }
}

static void resized(unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        size_t bytes = (8 + round % 5 * 8) * MIB;
        char *block = made(bytes);
        fill(block, bytes, round);
        static const double factors[] = {2, 0.5, 1.25, 0.05, 3};
        for (int step = 0; step < 5; step++) {
            size_t now = (size_t)((double)bytes * factors[step]) / 512 * 512, kept = now < bytes ? now : bytes;
            block = realloc(block, now);
            CHECK(block != NULL && holds(block, kept, round));
            fill(block, now, round);
            bytes = now;
        }
        free(block);
    }
}

static void forked_by(pid_t (*fork_by)(int), unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        char *block = made(48 * MIB);
        fill(block, round * MIB, 5);
        pid_t child = fork_by((int)round % 2);
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(threads() == 1 && holds(block, round * MIB, 5));
            free(block);
            char *other = made(24 * MIB);
            fill(other, 24 * MIB, 6);
            CHECK(holds(other, 24 * MIB, 6));
            await_the_end();
            _exit(0);
        }
        fill(block, 48 * MIB, 7);
        CHECK(end_of(child) == 0);
        CHECK(holds(block, 48 * MIB, 7));
        free(block);
    }
}

static pid_t plainly(int unused)
{
    (void)unused;
    return fork();
}

static void forked(unsigned rounds)
{
    forked_by(plainly, rounds);
}

static void copied(unsigned rounds)
{
    forked_by(copy, rounds);
}

static void vforked(unsigned rounds)
{
    for (unsigned round = 0; round < rounds; round++) {
        char *volatile block = made(32 * MIB), *volatile other = NULL;
        pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            other = malloc(32 * MIB);
            _exit(other == NULL);
        }
        CHECK(end_of(child) == 0);
        fill(block, 32 * MIB, 1);
        fill(other, 32 * MIB, 2);
        CHECK(holds(block, 32 * MIB, 1) && holds(other, 32 * MIB, 2));
        free(other);
        free(block);
        await_the_end();
    }
}

/* What the program discards, maps anew, or sees to itself (userfaultfd), stays as it makes it. */
static void changed(unsigned rounds)
{
    const size_t bytes = 256 * MIB, half = bytes / 2;
    for (unsigned round = 0; round < rounds; round++) {
        char *block = aligned_alloc(4096, bytes);
        CHECK(block != NULL && madvise(block, bytes, MADV_DONTNEED) == 0);
        await_the_end();
        CHECK(has_pages(block, bytes, 0));
        free(block);

        int file = memfd_create("sparse", 0);
        struct stat state;
        CHECK(file >= 0 && ftruncate(file, half) == 0);
        block = MADE(aligned_alloc(4096, bytes));
        CHECK(mmap(block + half, half, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == block + half);
        await_the_end();
        CHECK(fstat(file, &state) == 0 && state.st_blocks == 0);
        free(block);
        close(file);

        int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
        if (faults < 0)
            continue;
        block = MADE(aligned_alloc(4096, bytes));
        struct uffdio_api interface = {.api = UFFD_API};
        struct uffdio_register own = {.range = {(uintptr_t)block + half, half}, .mode = UFFDIO_REGISTER_MODE_MISSING};
        CHECK(ioctl(faults, UFFDIO_API, &interface) == 0 && ioctl(faults, UFFDIO_REGISTER, &own) == 0);
        await_the_end();
        struct pollfd waits = {faults, POLLIN, 0};
        CHECK(poll(&waits, 1, 0) == 0);
        close(faults);
        free(block);
    }
}

/* A program of one thread counts on it that a new file has the lowest number, and may close whatever it does not know. */
static void files(unsigned rounds)
{
    int lowest = open("/", O_RDONLY);
    CHECK(lowest >= 0 && close(lowest) == 0);
    for (unsigned round = 0; round < rounds; round++) {
        char *block = made(128 * MIB);
        do {
            int ends[2];
            char there[8] = "inside", back[8] = "";
            for (int file = lowest; file < lowest + 4; file++)
                close(file);
            CHECK(pipe(ends) == 0);
            CHECK(ends[0] == lowest && ends[1] == lowest + 1);
            CHECK(write(ends[1], there, sizeof there) == sizeof there);
            CHECK(read(ends[0], back, sizeof back) == sizeof back && !strcmp(there, back));
            CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
        } while (threads() > 1);
        free(block);
    }
}

/* Of a program with a priority of real time, the thread has none: its pages are not more urgent than other threads. */
static void real_time(unsigned rounds)
{
    struct sched_param first = {.sched_priority = 1}, none = {0};
    int seen = 0;
    for (unsigned round = 0; round < rounds && !seen; round++) {
        CHECK(sched_setscheduler(0, SCHED_FIFO, &first) == 0);
        char *block = made(512 * MIB);
        CHECK(sched_setscheduler(0, SCHED_OTHER, &none) == 0);
        do {
            DIR *folder = opendir("/proc/self/task");
            CHECK(folder != NULL);
            for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
                pid_t thread = atoi(entry->d_name);
                seen |= thread > 0 && thread != getpid() && sched_getscheduler(thread) == SCHED_OTHER;
            }
            closedir(folder);
        } while (!seen && threads() > 1);
        free(block);
    }
    CHECK(seen);
}

static volatile int is_done;

/* More than ever, again and again: what is freed then is held only where the whole program leaves room for it, which the kernel tells. */
static void *grow(void *rounds)
{
    size_t bytes = 32 * MIB;
    for (uintptr_t round = 0; round < (uintptr_t)rounds; round++, bytes += bytes / 50) {
        char *blocks[8];
        for (int i = 0; i < 8; i++)
            blocks[i] = made(bytes);
        for (int i = 0; i < 8; i++)
            free(blocks[i]);
    }
    is_done = 1;
    return NULL;
}

/* The only thread that opens files counts on the lowest number, whatever others allocate. */
static void files_of_two(unsigned rounds)
{
    pthread_t other;
    int lowest = open("/", O_RDONLY);
    CHECK(lowest >= 0 && close(lowest) == 0);
    /* Before glibc makes an arena of a thread smaller it opens /proc/sys/vm/overcommit_memory, which it does by itself. */
    CHECK(mallopt(M_ARENA_MAX, 1) == 1);
    CHECK(pthread_create(&other, NULL, grow, (void *)(uintptr_t)rounds) == 0);
    while (!is_done) {
        CHECK(open("/", O_RDONLY) == lowest);
        CHECK(close(lowest) == 0);
    }
    CHECK(pthread_join(other, NULL) == 0);
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* Who frees more than was ever resident is not kept waiting each time for a reading of that by another thread. */
static void seldom_read(unsigned rounds)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, wait_for_ever, NULL) == 0);
    struct rusage before, after;
    char *blocks[16] = {NULL};
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    for (unsigned i = 0; i < rounds; i++) {
        char **block = &blocks[i % 16];
        free(*block);
        *block = malloc((i * 37 % 64 + 1) * (MIB / 4));
        CHECK(*block != NULL);
        **block = 1;
    }
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    CHECK(after.ru_nvcsw - before.ru_nvcsw < rounds / 4);
}

static void see_the_end(void)
{
    puts(syscall(SYS_gettid) == getpid() ? "the end was seen" : "by a thread of somebody else");
}

/* The last thread of the program's ends the process by exit(3), on its own stack. */
static void ended(unsigned unused)
{
    (void)unused;
    CHECK(atexit(see_the_end) == 0);
    made(512 * MIB)[0] = 1;
    pthread_exit(NULL);
}

int main(int count, char **words)
{
    CHECK(count >= 2);
    static const struct {
        const char *word;
        void (*act)(unsigned);
        unsigned rounds;
    } all[] = {{"created", created, 1}, {"freed", freed, 50}, {"resized", resized, 30}, {"forked", forked, 20}, {"copied", copied, 20},
               {"vforked", vforked, 20}, {"changed", changed, 4}, {"files", files, 10}, {"files_of_two", files_of_two, 170},
               {"seldom_read", seldom_read, 4000}, {"real_time", real_time, 20}, {"ended", ended, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(words[1], all[i].word)) {
            all[i].act(count > 2 ? (unsigned)strtoul(words[2], NULL, 10) : all[i].rounds);
            return 0;
        }
    return 2;
}
