/* Does what it is told, one line of input a step, and answers `ok` when it is done:

     map MIB          maps memory, of small pages
     touch            touches all of it
     collapse         puts it onto huge pages
     scatter N MIB    maps and touches MIB in N mappings that the kernel cannot join
     faults N         touches N pages and gives them back
     threads N        starts N threads that wait
     hop N            goes N times from one CPU to another
     child MIB        starts a child that touches MIB and waits for the end of the input
     leave            ends the first thread, and goes on by another
*/
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define PAGE 4096UL
#define MIB (1UL << 20)
#define BLOCK (2 * MIB)

static char *memory;
static size_t bytes;

static void give_up(const char *what) {
    perror(what);
    exit(1);
}

static char *map(size_t size) {
    char *start = mmap(NULL, size + BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        give_up("mmap");
    start = (char *)(((unsigned long)start + BLOCK - 1) & -BLOCK);
    if (madvise(start, size, MADV_NOHUGEPAGE))
        give_up("madvise");
    return start;
}

static void touch(char *start, size_t size) {
    for (size_t at = 0; at < size; at += PAGE)
        start[at] = 1;
}

/* The kernel may ask for another try where pages are in its hands: by EINVAL while they are on the move. */
static void collapse(void) {
    int tries = 1000;
    if (madvise(memory, bytes, MADV_HUGEPAGE))
        give_up("madvise");
    while (madvise(memory, bytes, MADV_COLLAPSE))
        if ((errno != EAGAIN && errno != EINVAL) || --tries == 0)
            give_up("collapse");
}

static void *wait_forever(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

/* Every other page of a part cannot be written, so that no two parts are one mapping. */
static void scatter(size_t parts, size_t size) {
    size_t part = size / parts & -PAGE;
    char *start = map(part * parts);
    touch(start, part * parts);
    for (size_t at = 0; at < parts; at += 2)
        if (mprotect(start + at * part, part, PROT_READ))
            give_up("mprotect");
}

static void hop(long count) {
    cpu_set_t allowed, one;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        give_up("sched_getaffinity");
    for (long hops = 0; hops < count; cpu = (cpu + 1) % CPU_SETSIZE) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one))
            give_up("sched_setaffinity");
        hops++;
    }
    if (sched_setaffinity(0, sizeof allowed, &allowed))
        give_up("sched_setaffinity");
}

static void child(size_t size) {
    int ready[2], waiting[2];
    char byte;
    if (pipe(ready) || pipe(waiting))
        give_up("pipe");
    if (fork() == 0) {
        close(waiting[1]);
        touch(map(size), size);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        /* Ends when the parent does. */
        while (read(waiting[0], &byte, 1) > 0)
            ;
        _exit(0);
    }
    close(waiting[0]);
    if (read(ready[0], &byte, 1) != 1)
        give_up("child");
}

static int serve(void);

/* Answers from now on, when the first thread has ended for everybody to see. */
static void *go_on(void *nothing) {
    char line[512], *after = NULL;
    do {
        FILE *stat = fopen("/proc/self/stat", "r");
        if (!stat || !fgets(line, sizeof line, stat) || !(after = strrchr(line, ')')))
            give_up("stat");
        fclose(stat);
    } while (after[2] != 'Z');
    puts("ok");
    fflush(stdout);
    exit(serve());
    return nothing;
}

static int serve(void) {
    char line[128], word[32];
    while (fgets(line, sizeof line, stdin)) {
        unsigned long first = 0, second = 0;
        if (sscanf(line, "%31s %lu %lu", word, &first, &second) < 1)
            return 2;
        if (!strcmp(word, "map")) {
            bytes = first * MIB;
            memory = map(bytes);
        } else if (!strcmp(word, "touch")) {
            touch(memory, bytes);
        } else if (!strcmp(word, "collapse")) {
            collapse();
        } else if (!strcmp(word, "scatter")) {
            scatter(first, second * MIB);
        } else if (!strcmp(word, "faults")) {
            char *start = map(first * PAGE);
            touch(start, first * PAGE);
            munmap(start, first * PAGE);
        } else if (!strcmp(word, "threads")) {
            for (pthread_t thread; first > 0; first--)
                if (pthread_create(&thread, NULL, wait_forever, NULL))
                    give_up("pthread_create");
        } else if (!strcmp(word, "hop")) {
            hop((long)first);
        } else if (!strcmp(word, "child")) {
            child(first * MIB);
        } else if (!strcmp(word, "leave")) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, go_on, NULL))
                give_up("pthread_create");
            pthread_exit(NULL);
        } else {
            return 2;
        }
        puts("ok");
        fflush(stdout);
    }
    return 0;
}

int main(void) {
    return serve();
}
