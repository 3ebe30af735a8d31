/* recycled [serial|phases|team|under-policy|own-policy|held]: blocks of malloc(3) that serve again, touched by whom and under what policy; says for each on which nodes
   it came to lie. CPU 0 is on the first node, CPU 2 on the second. */
#include "numa.h"
#include <pthread.h>

#define BYTES (48UL << 20)
/* Smaller ones glibc recycles, too. */
#define SMALL (8UL << 20)

static char *memory;

static void *touch_upper_half(void *unused) {
    (void)unused;
    pin(2);
    touch(memory + BYTES / 2, BYTES / 2);
    return NULL;
}

static void *touch_small(void *unused) {
    (void)unused;
    pin(2);
    memory = malloc(SMALL);
    touch(memory, SMALL);
    return NULL;
}

/* Frees the block after a look at a page of each block of 2 MiB: of each another, which interleaving by small pages sees. */
static void tell(const char *what, size_t bytes) {
    char *start = (char *)(((unsigned long)memory + BLOCK - 1) & -BLOCK);
    unsigned long counts[NODES] = {0};
    for (size_t block = 0; block + 1 < bytes / BLOCK; block++) {
        void *page = start + block * BLOCK + block * PAGE;
        int node = -1;
        if (syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0))
            give_up("move_pages");
        if (node >= 0 && node < NODES)
            counts[node]++;
    }
    print_counts(what, counts);
    free(memory);
}

static void block(const char *what, const char *policy, const char *nodes) {
    if (policy)
        set_policy(policy, nodes);
    memory = malloc(BYTES);
    touch(memory, BYTES);
    tell(what, BYTES);
}

/* Whoever allocates is not who touches. */
static void halves(const char *what) {
    pthread_t thread;
    memory = malloc(BYTES);
    if (pthread_create(&thread, NULL, touch_upper_half, NULL))
        give_up("pthread_create");
    touch(memory, BYTES / 2);
    pthread_join(thread, NULL);
    tell(what, BYTES);
}

static void as_asked(void) {
    pthread_t thread;
    pin(0);
    block("first", NULL, NULL);
    block("again", NULL, NULL);
    pin(2);
    block("moved", NULL, NULL);
    pin(0);
    block("bound", "bind", "1");
    block("interleaved", "interleave", "0-1");
    block("default", "default", "-");
    halves("halves");
    memory = malloc(SMALL);
    touch(memory, SMALL);
    tell("small", SMALL);
    if (pthread_create(&thread, NULL, touch_small, NULL))
        give_up("pthread_create");
    pthread_join(thread, NULL);
    tell("elsewhere", SMALL);
}

/* One after the other, all touched by the thread that allocates them. */
static void input(int blocks) {
    pin(0);
    for (int count = 0; count < blocks; count++)
        block("serial", NULL, NULL);
}

static void serial(void) {
    input(40);
    pin(2);
    block("moved", NULL, NULL);
    block("stayed", NULL, NULL);
}

/* Input is read by one thread, and then worked on by threads that are created for it. */
static void phases(void) {
    input(20);
    halves("first");
    halves("second");
}

static pthread_barrier_t turn;

static void *touch_upper_halves(void *unused) {
    (void)unused;
    pin(2);
    for (;;) {
        pthread_barrier_wait(&turn);
        touch(memory + BYTES / 2, BYTES / 2);
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

/* The same by a thread that was there before. */
static void team(void) {
    pthread_t thread;
    pthread_barrier_init(&turn, NULL, 2);
    if (pthread_create(&thread, NULL, touch_upper_halves, NULL))
        give_up("pthread_create");
    input(20);
    for (int count = 0; count < 20; count++) {
        memory = malloc(BYTES);
        pthread_barrier_wait(&turn);
        touch(memory, BYTES / 2);
        pthread_barrier_wait(&turn);
        tell(count < 16 ? "early" : "late", BYTES);
    }
}

/* All on the nodes of the policy that it began with. */
static void under_policy(void) {
    block("first", NULL, NULL);
    block("again", NULL, NULL);
    halves("halves");
}

/* On the second node, whatever it began with. */
static void own_policy(void) {
    block("bound", "bind", "1");
}

/* What of the memory the kernel may take (MADV_FREE) where a block was freed that can serve again. */
static void held(void) {
    char line[256];
    unsigned long kib, sum = 0;
    FILE *mappings;
    char *stays = malloc(4 * SMALL);
    touch(stays, 4 * SMALL);
    char *freed = malloc(3 * SMALL);
    touch(freed, 3 * SMALL);
    free(freed);
    mappings = fopen("/proc/self/smaps", "r");
    if (!mappings)
        give_up("/proc/self/smaps");
    while (fgets(line, sizeof line, mappings))
        if (sscanf(line, "LazyFree: %lu kB", &kib) == 1)
            sum += kib;
    fclose(mappings);
    printf("lazily-freed-kib 0:%lu\n", sum);
    free(stays);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "serial"))
        serial();
    else if (!strcmp(what, "phases"))
        phases();
    else if (!strcmp(what, "team"))
        team();
    else if (!strcmp(what, "under-policy"))
        under_policy();
    else if (!strcmp(what, "own-policy"))
        own_policy();
    else if (!strcmp(what, "held"))
        held();
    else
        as_asked();
    return 0;
}
