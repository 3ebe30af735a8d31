/* Redirecting in a plain process: what a chosen library makes is placed, whoever takes it, also one loaded later; pages that
 * the loader protected stay so; forks; and the way back. Arguments: the taker, and the program's own words. */
#include "check.h"
#include <dlfcn.h>
#include <firsttouch.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

void *make(size_t bytes);
void *make_zeroed(size_t bytes);
void *make_aligned(size_t alignment, size_t bytes);
void *grow(void *block, size_t bytes);

static size_t placed(void) { return firsttouch_ism_list(NULL, 0); }

static firsttouch_session status(void)
{
    firsttouch_session now;
    CHECK(firsttouch_ism_status(&now, sizeof now) == FIRSTTOUCH_RESULT_OK);
    return now;
}

/* Pages are known block by block from PAGEMAP_SCAN (Linux 6.7) on. */
static int sees_blocks(void)
{
    struct utsname here;
    int major, minor;
    CHECK(uname(&here) == 0 && sscanf(here.release, "%d.%d", &major, &minor) == 2);
    return major > 6 || (major == 6 && minor >= 7);
}

/* Mappings of files that may be written: relocated data that the loader did not protect. */
static size_t writable_file_bytes(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    size_t bytes = 0;
    while (fgets(line, sizeof line, maps)) {
        size_t start, end;
        char rights[5];
        unsigned long inode;
        if (sscanf(line, "%zx-%zx %4s %*x %*s %lu", &start, &end, rights, &inode) == 4 && rights[1] == 'w' && inode)
            bytes += end - start;
    }
    fclose(maps);
    return bytes;
}

static void *work(void *seed)
{
    for (size_t round = 0; round < 2000; round++) {
        size_t bytes = (round * 7919 + (size_t)seed * 104729) % (3 * MIB) + 1;
        unsigned char *block = round % 2 ? make(bytes) : make_zeroed((bytes + 7) / 8 * 8);
        CHECK(block);
        CHECK(round % 2 || (block[0] == 0 && block[bytes - 1] == 0));
        block[0] = block[bytes - 1] = (unsigned char)round;
        block = grow(block, bytes + MIB);
        CHECK(block && block[bytes - 1] == (unsigned char)round);
        free(block);
    }
    return NULL;
}

int main(int count, char **words)
{
    CHECK(count == 2);
    alarm(300); /* a deadlock is a failure */
    size_t writable = writable_file_bytes();
    CHECK(status().via == FIRSTTOUCH_VIA_NOTHING && !status().enabled);
    CHECK(firsttouch_ism_on("no such", MIB, 4 * MIB) == FIRSTTOUCH_RESULT_BAD_PAGES);
    CHECK(firsttouch_ism_on("thp", 2, 1) == FIRSTTOUCH_RESULT_BAD_ARGUMENT);

    void *before = make(8 * MIB);
    CHECK(firsttouch_ism_choose("libmade") == FIRSTTOUCH_RESULT_OK);
    CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    CHECK(status().via == FIRSTTOUCH_VIA_REDIRECTION && status().enabled && status().chosen_objects == 1);
    CHECK(writable_file_bytes() == writable);

    /* Sizes, and who is chosen. */
    void *own = malloc(8 * MIB);
    CHECK(placed() == 0);
    void *small = make(MIB - 1), *large = make(64 * MIB + 1), *block = make(8 * MIB);
    CHECK(placed() == 1 && malloc_usable_size(block) >= 8 * MIB);
    unsigned char *zeroed = make_zeroed(8 * MIB);
    void *aligned = make_aligned(4 * MIB, 4 * MIB);
    CHECK(placed() == 3 && (size_t)aligned % (4 * MIB) == 0 && zeroed[0] == 0 && zeroed[8 * MIB - 1] == 0);
    memset(block, 1, 8 * MIB);
    firsttouch_block rows[4];
    CHECK(firsttouch_ism_list(rows, 4) == 3);
    for (int row = 0; row < 3; row++)
        if (rows[row].address == (uint64_t)(uintptr_t)block) {
            CHECK(rows[row].bytes == 8 * MIB);
            if (status().support && sees_blocks())
                CHECK(rows[row].huge_bytes >= 6 * MIB);
        }

    /* Others take what was placed, and what was not goes its way. */
    block = realloc(block, 16 * MIB);
    CHECK(placed() == 3 && ((char *)block)[8 * MIB - 1] == 1);
    free(block);
    free(small);
    free(large);
    before = grow(before, 9 * MIB); /* into the heap, since a chosen library asks */
    CHECK(before && placed() == 3);
    own = realloc(own, 9 * MIB); /* not into it */
    CHECK(own && placed() == 3);
    free(before);
    free(aligned);
    CHECK(placed() == 1);

    /* A library that is loaded only now. */
    void *taker = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(taker);
    void (*take)(void *) = (void (*)(void *))dlsym(taker, "take");
    int (*take_by_c_library)(void *, size_t) = (int (*)(void *, size_t))dlsym(taker, "take_by_c_library");
    take(zeroed);
    CHECK(placed() == 0);
    CHECK(take_by_c_library(make(2 * MIB), 2 * MIB) && placed() == 0);
    CHECK(dlsym(RTLD_NEXT, "malloc") == (void *)malloc);

    /* On and off a thousand times, while others allocate. */
    pthread_t threads[3];
    for (size_t index = 0; index < 3; index++)
        CHECK(pthread_create(&threads[index], NULL, work, (void *)index) == 0);
    for (int round = 0; round < 1000; round++) {
        if (round % 2)
            firsttouch_ism_off();
        else
            CHECK(firsttouch_ism_on(NULL, MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
        if (round % 100 == 0) {
            pid_t child = fork();
            if (child == 0) {
                free(make(4 * MIB));
                CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
                _exit(0);
            }
            int ended;
            CHECK(waitpid(child, &ended, 0) == child && ended == 0);
        }
    }
    for (int index = 0; index < 3; index++)
        CHECK(pthread_join(threads[index], NULL) == 0);
    CHECK(placed() == 0);

    /* A child has blocks of its own. */
    CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    unsigned char *shared = make(4 * MIB);
    memset(shared, 7, 4 * MIB);
    pid_t child = fork();
    if (child == 0) {
        CHECK(shared[4 * MIB - 1] == 7);
        memset(shared, 8, 4 * MIB);
        free(shared);
        _exit(placed() == 0 ? 0 : 1);
    }
    int ended;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    CHECK(shared[0] == 7 && shared[4 * MIB - 1] == 7 && placed() == 1);

    /* A block that is freed without the right to write it serves again. */
    block = make(4 * MIB);
    void *page = (void *)(((size_t)block + MIB) & ~(size_t)4095);
    CHECK(mprotect(page, 4096, PROT_READ) == 0);
    free(block);
    block = make(4 * MIB);
    memset(block, 3, 4 * MIB);
    free(block);

    /* The way back. */
    CHECK(firsttouch_ism_end() == FIRSTTOUCH_RESULT_BUSY && status().via == FIRSTTOUCH_VIA_REDIRECTION);
    free(shared);
    CHECK(firsttouch_ism_end() == FIRSTTOUCH_RESULT_OK);
    CHECK(status().via == FIRSTTOUCH_VIA_NOTHING && writable_file_bytes() <= writable + 16 * 4096);
    free(make(8 * MIB));
    CHECK(firsttouch_ism_end() == FIRSTTOUCH_RESULT_OK);
    CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    block = make(4 * MIB);
    CHECK(placed() == 1);
    free(block);

    /* A limit of address space leaves room for what the program maps itself. */
    struct rlimit limit = {(rlim_t)8 << 30, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    void *mapped = mmap(NULL, 256 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    free(make(2 * MIB));
    free(own);
    puts("done");
    return 0;
}
