/* What the programs of the lab share: the kernel's calls without libnuma, and where pages are. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NODES 64
#define PAGE 4096UL
#define BLOCK (2UL << 20)

static void give_up(const char *what) {
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* "0-2,5" as bits. */
static unsigned long nodes_of(const char *list) {
    unsigned long bits = 0;
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (; first <= last && first < NODES; first++)
            bits |= 1UL << first;
        list = *end == ',' ? end + 1 : end;
    }
    return bits;
}

/* include/uapi/linux/mempolicy.h */
static int mode_of(const char *word) {
    static const char *const words[] = {"default",          "prefer", "bind", "interleave", "local",
                                        "prefer-many", "weighted"};
    for (int mode = 0; mode < 7; mode++)
        if (!strcmp(word, words[mode]))
            return mode;
    fprintf(stderr, "unknown policy %s\n", word);
    exit(1);
}

static void set_policy(const char *word, const char *list) {
    /* Some policies have no nodes. */
    unsigned long bits = strcmp(list, "-") ? nodes_of(list) : 0;
    if (syscall(SYS_set_mempolicy, mode_of(word), bits ? &bits : NULL, bits ? NODES + 1 : 0))
        give_up("set_mempolicy");
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        give_up("sched_setaffinity");
}

/* Memory that begins at a block, with or without huge pages. */
static char *map(size_t bytes, int huge) {
    char *start = mmap(NULL, bytes + BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        give_up("mmap");
    start = (char *)(((unsigned long)start + BLOCK - 1) & -BLOCK);
    if (madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE))
        give_up("madvise");
    return start;
}

static void touch(char *start, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PAGE)
        start[at] = 1;
}

/* Pages by node, as /proc/self/numa_maps counts them. */
static void pages_by_node(const char *start, unsigned long count[NODES]) {
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    char line[4096];
    if (!maps)
        give_up("numa_maps");
    memset(count, 0, NODES * sizeof *count);
    while (fgets(line, sizeof line, maps)) {
        if (strtoul(line, NULL, 16) != (unsigned long)start)
            continue;
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
            unsigned node;
            unsigned long pages;
            if (sscanf(word, "N%u=%lu", &node, &pages) == 2 && node < NODES)
                count[node] += pages;
        }
    }
    fclose(maps);
}

/* Nodes of the first page of every block, as move_pages answers: a huge page has one node. */
static void blocks_by_node(char *start, size_t bytes, unsigned long count[NODES]) {
    memset(count, 0, NODES * sizeof *count);
    for (size_t at = 0; at < bytes; at += BLOCK) {
        void *page = start + at;
        int node = -1;
        if (syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0))
            give_up("move_pages");
        if (node >= 0 && node < NODES)
            count[node]++;
    }
}

/* Bytes of the mapping on huge pages. */
static unsigned long huge_bytes(const char *start) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[4096];
    unsigned long from, to, kib, bytes = 0;
    int inside = 0;
    if (!maps)
        give_up("smaps");
    while (fgets(line, sizeof line, maps)) {
        /* The head of a mapping: two addresses. */
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from == (unsigned long)start;
        if (inside && sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
            bytes = kib << 10;
    }
    fclose(maps);
    return bytes;
}

static void print_counts(const char *what, const unsigned long count[NODES]) {
    printf("%s", what);
    for (int node = 0; node < NODES; node++)
        if (count[node])
            printf(" %d:%lu", node, count[node]);
    printf("\n");
}
