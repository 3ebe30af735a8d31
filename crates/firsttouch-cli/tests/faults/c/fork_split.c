// What is put together again some time after a fork is the process's own and all there: what a child has in common with it stays common,
// and what the program has given up stays given up. A later block that was split, too, tells that all before it has been looked at.
//# run: --pages thp -- shared
//# where: thp linux>=6.1
//# run: --pages thp -- child
//# where: thp linux>=6.1
//# run: --pages thp -- given_up
//# where: thp linux>=6.1
//# run: --pages thp -- threads
//# where: thp linux>=6.1
#include "check.h"
#include <pthread.h>

static const size_t BYTES = 64 * MIB;
static const size_t LATER = 16 * MIB;

static int gate[2];
static char *block;

static size_t own_bytes(void)
{
    return proc_bytes("/proc/self/smaps_rollup", "Private_Dirty:");
}

static void write_here_and_there(void)
{
    for (size_t at = HUGE_PAGE / 2; at < BYTES; at += HUGE_PAGE)
        block[at]++;
}

/* Bytes on huge pages of a mapping. It is touched: what the kernel watches to balance nodes Linux 6.1 leaves out. */
static size_t huge_bytes_of(const char *start, size_t whole)
{
    for (size_t at = 0; at < whole; at += HUGE_PAGE)
        (void)((const volatile char *)start)[at];
    char line[512];
    int is_it = 0;
    size_t kib, bytes = 0;
    uintptr_t from, to;
    FILE *maps = MADE(fopen("/proc/self/smaps", "r"));
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_it = from == (uintptr_t)start;
        else if (is_it && sscanf(line, "AnonHugePages: %zu", &kib) == 1)
            bytes = kib * KIB;
    }
    fclose(maps);
    return bytes;
}

/* Waits until a block behind all others, whose huge pages were split, has them again. It is a mapping of its own. */
static void wait_until_put_together(void)
{
    char *later = filled_block(LATER, 3);
    CHECK(later > block);
    char *begin = later + HUGE_PAGE - (uintptr_t)later % HUGE_PAGE;
    const size_t whole = LATER - 2 * HUGE_PAGE;
    CHECK(madvise(begin, whole, MADV_DONTDUMP) == 0 && huge_bytes_of(begin, whole) == whole);
    for (char *page = begin; page < begin + whole; page += HUGE_PAGE)
        CHECK(mprotect(page, 4096, PROT_READ) == 0 && mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
    CHECK(huge_bytes_of(begin, whole) == 0);
    for (double limit_s = now_s() + LIMIT_S; huge_bytes_of(begin, whole) < whole;) {
        CHECK(now_s() < limit_s);
        free(malloc(2 * MIB));
    }
    CHECK(holds(later, LATER, 3));
}

/* The other process stays as long as this one looks. */
static void keep_common(int in_child)
{
    char byte;
    pid_t child = fork();
    CHECK(child >= 0);
    if ((child == 0) == in_child) {
        write_here_and_there();
        CHECK(huge_bytes() <= 2 * HUGE_PAGE);
        size_t before = own_bytes();
        wait_until_put_together();
        CHECK(own_bytes() < before + LATER + BYTES / 4);
    } else if (child == 0) {
        CHECK(read(gate[0], &byte, 1) == 1);
    }
    if (child == 0)
        _exit(0);
    CHECK(in_child || write(gate[1], "x", 1) == 1);
    CHECK(end_of(child) == 0);
}

static void *stay(void *mutex)
{
    CHECK(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
    return NULL;
}

int main(int count, char **arguments)
{
    CHECK(count == 2 && pipe(gate) == 0);
    block = filled_block(BYTES, 5);
    if (strcmp(arguments[1], "given_up") == 0) {
        char *begin = block + HUGE_PAGE - (uintptr_t)block % HUGE_PAGE;
        for (char *at = begin; at + HUGE_PAGE <= block + BYTES; at += HUGE_PAGE)
            CHECK(madvise(at + 4096, HUGE_PAGE - 4096, MADV_DONTNEED) == 0);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0)
            _exit(0);
        CHECK(end_of(child) == 0);
        size_t before = own_bytes();
        wait_until_put_together();
        CHECK(own_bytes() < before + LATER + BYTES / 4);
        return 0;
    }
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    int has_thread = strcmp(arguments[1], "threads") == 0;
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(!has_thread || pthread_create(&thread, NULL, stay, &mutex) == 0);
    keep_common(strcmp(arguments[1], "child") == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(!has_thread || pthread_join(thread, NULL) == 0);
    return 0;
}
