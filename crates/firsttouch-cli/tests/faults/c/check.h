/* What the test programs share: checks that say where they failed, patterns, and a look at the program's own pages. */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define HUGE_PAGE (2 * MIB)

/* Written to the descriptor at once: the heap may be what is broken. A program that has more to say brings its own. */
#ifndef CHECK
#define CHECK(condition)                                                                                             \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            dprintf(2, "%s:%d: failed: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);                     \
            _exit(1);                                                                                                \
        }                                                                                                            \
    } while (0)
#endif

/* What an allocation gave, which is something. */
#define MADE(allocation)                                                                                             \
    ({                                                                                                               \
        void *made_ = (allocation);                                                                                  \
        CHECK(made_ != NULL && made_ != MAP_FAILED);                                                                 \
        made_;                                                                                                       \
    })

/* Does that in a child, which must end well; the number tells of several which one did not. */
#define IN_CHILD(number, ...)                                                                                        \
    do {                                                                                                             \
        pid_t child_ = fork();                                                                                       \
        CHECK(child_ >= 0);                                                                                          \
        if (child_ == 0) {                                                                                           \
            __VA_ARGS__;                                                                                             \
            _exit(0);                                                                                                \
        }                                                                                                            \
        if (end_of(child_) != 0) {                                                                                   \
            dprintf(2, "%s:%d: child %d failed\n", __FILE__, __LINE__, (int)(number));                               \
            _exit(1);                                                                                                \
        }                                                                                                            \
    } while (0)

/* Whoever waits longer for what takes no time waits for ever. */
enum { LIMIT_S = 240 };

/* Keeps the compiler from knowing a size, and so from judging the call. */
static inline size_t unknown(size_t bytes)
{
    volatile size_t hidden = bytes;
    return hidden;
}

/* A word anywhere, without a call for each. (`memcmp` takes three times as long where processors are emulated.) */
typedef uint64_t loose_word __attribute__((aligned(1), may_alias));

/* A pattern that differs from page to page and from block to block: a word in each 512 bytes, which an emulated processor has
 * time for. */
enum { PATTERN_STRIDE = 512 };

static inline uint64_t pattern_at(size_t at, unsigned seed)
{
    return 0x9e3779b97f4a7c15u * (at / PATTERN_STRIDE + 1) ^ seed * 0x0101010101010101u;
}

static inline void fill(void *block, size_t bytes, unsigned seed)
{
    for (size_t at = 0; at + 8 <= bytes; at += PATTERN_STRIDE)
        *(loose_word *)((unsigned char *)block + at) = pattern_at(at, seed);
    /* The last page is touched, too. */
    if (bytes > 0 && (bytes - 1) % PATTERN_STRIDE >= 8)
        ((unsigned char *)block)[bytes - 1] = (unsigned char)seed;
}

/* A byte here and there, where it is a matter of room and not of contents: the kernel clears a huge page for each. */
static inline void touch(void *block, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 16 * MIB)
        ((volatile unsigned char *)block)[at] = 1;
}

/* A new block with a pattern. */
#define filled_block(bytes, seed) filled_with(MADE(malloc(bytes)), bytes, seed)

static inline void *filled_with(void *block, size_t bytes, unsigned seed)
{
    fill(block, bytes, seed);
    return block;
}

/* A mapping of the program's own, of memory that is new. */
#define new_mapping(bytes) MADE(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))

static inline int holds(const void *block, size_t bytes, unsigned seed)
{
    for (size_t at = 0; at + 8 <= bytes; at += PATTERN_STRIDE)
        if (*(const loose_word *)((const unsigned char *)block + at) != pattern_at(at, seed))
            return 0;
    return 1;
}

static inline int is_all(const void *block, size_t bytes, unsigned char value)
{
    const unsigned char *begin = (const unsigned char *)block;
    uint64_t differs = 0;
    size_t at = 0;
    for (; at + 8 <= bytes; at += 8)
        differs |= *(const loose_word *)(begin + at) ^ value * 0x0101010101010101u;
    for (; at < bytes; at++)
        differs |= begin[at] ^ value;
    return differs == 0;
}

static inline int is_zero(const void *block, size_t bytes)
{
    return is_all(block, bytes, 0);
}

/* The beginning of a file of /proc. */
static inline void read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    ssize_t length = read(file, text, size - 1);
    close(file);
    CHECK(length > 0);
    text[length] = 0;
}

/* A line `key:  N kB` of a file of /proc, in bytes. */
static inline size_t proc_bytes(const char *path, const char *key)
{
    char text[8192];
    read_text(path, text, sizeof text);
    char *line = strstr(text, key);
    CHECK(line != NULL);
    return strtoul(line + strlen(key), NULL, 10) * KIB;
}

/* Bytes of this process on transparent huge pages. */
static inline size_t huge_bytes(void)
{
    return proc_bytes("/proc/self/smaps_rollup", "AnonHugePages:");
}

static inline double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The exit status of a child, 128 + n for one that a signal ended. */
static inline int end_of(pid_t child)
{
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#endif
