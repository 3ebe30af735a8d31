/* first_touch CPU…: a thread on each CPU (`-`: wherever it is) touches memory of its own; says for each thread, counted
   from 1, on which nodes it came to lie. */
#include "numa.h"
#include <pthread.h>

#define BYTES (4UL << 20)

struct part {
    const char *cpu;
    char *start;
};

static void *work(void *argument) {
    struct part *part = argument;
    if (strcmp(part->cpu, "-"))
        pin(atoi(part->cpu));
    part->start = map(BYTES, 0);
    touch(part->start, BYTES);
    return NULL;
}

int main(int count, char **words) {
    struct part parts[256];
    pthread_t threads[256];
    unsigned long counts[NODES];
    for (int i = 1; i < count; i++) {
        parts[i].cpu = words[i];
        if (pthread_create(&threads[i], NULL, work, &parts[i]))
            give_up("pthread_create");
    }
    for (int i = 1; i < count; i++) {
        char label[32];
        pthread_join(threads[i], NULL);
        snprintf(label, sizeof label, "thread%d", i);
        /* Blocks: mappings next to each other are one line of numa_maps. */
        blocks_by_node(parts[i].start, BYTES, counts);
        print_counts(label, counts);
    }
    return 0;
}
