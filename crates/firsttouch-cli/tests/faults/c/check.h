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

/* Whoever waits longer for what takes no time waits for ever. */
enum { LIMIT_S = 240 };

/* Keeps the compiler from knowing a size, and so from judging the call. */
static inline size_t unknown(size_t bytes)
{
    volatile size_t hidden = bytes;
    return hidden;
}

/* A pattern that differs from page to page and from block to block. */
static inline void fill(void *block, size_t bytes, unsigned seed)
{
    unsigned char *at = (unsigned char *)block;
    for (size_t page = 0; page < bytes; page += 4096)
        memset(at + page, (int)((page / 4096 * 7 + seed) & 0xff), bytes - page < 4096 ? bytes - page : 4096);
}

static inline int is_all(const void *block, size_t bytes, unsigned char value)
{
    const unsigned char *at = (const unsigned char *)block;
    return bytes == 0 || (at[0] == value && memcmp(at, at + 1, bytes - 1) == 0);
}

static inline int holds(const void *block, size_t bytes, unsigned seed)
{
    const unsigned char *at = (const unsigned char *)block;
    for (size_t page = 0; page < bytes; page += 4096)
        if (!is_all(at + page, bytes - page < 4096 ? bytes - page : 4096, (page / 4096 * 7 + seed) & 0xff))
            return 0;
    return 1;
}

static inline int is_zero(const void *block, size_t bytes)
{
    return is_all(block, bytes, 0);
}

/* A line `key:  N kB` of a file of /proc, in bytes. */
static inline size_t proc_bytes(const char *path, const char *key)
{
    char text[8192];
    int file = open(path, O_RDONLY);
    CHECK(file >= 0);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0);
    text[length] = 0;
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
