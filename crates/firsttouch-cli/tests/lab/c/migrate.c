/* migrate FROM TO: memory on one node is moved to another, page by page and then, back, as a whole process. */
#include "numa.h"

#define BYTES (8UL << 20)

int main(int count, char **words) {
    static void *pages[BYTES / PAGE];
    static int nodes[BYTES / PAGE], status[BYTES / PAGE];
    unsigned long counts[NODES], from, to;
    if (count < 3)
        return 2;
    from = nodes_of(words[1]), to = nodes_of(words[2]);
    set_policy("bind", words[1]);
    char *start = map(BYTES, 0);
    touch(start, BYTES);
    set_policy("default", "-");
    pages_by_node(start, counts);
    print_counts("before", counts);
    for (size_t i = 0; i < BYTES / PAGE; i++)
        pages[i] = start + i * PAGE, nodes[i] = atoi(words[2]);
    if (syscall(SYS_move_pages, 0, BYTES / PAGE, pages, nodes, status, 2))
        give_up("move_pages");
    pages_by_node(start, counts);
    print_counts("moved", counts);
    if (syscall(SYS_migrate_pages, 0, NODES + 1, &to, &from) < 0)
        give_up("migrate_pages");
    pages_by_node(start, counts);
    print_counts("back", counts);
    return 0;
}
