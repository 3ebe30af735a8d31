/* policy MODE NODES MIB small|huge [CPU]: touches memory under a policy of the process, says where it came to lie. */
#include "numa.h"

int main(int count, char **words) {
    if (count < 5)
        return 2;
    size_t bytes = strtoul(words[3], NULL, 10) << 20;
    int huge = !strcmp(words[4], "huge");
    unsigned long counts[NODES];
    if (count > 5)
        pin(atoi(words[5]));
    if (strcmp(words[1], "none"))
        set_policy(words[1], words[2]);
    char *start = map(bytes, huge);
    touch(start, bytes);
    if (huge) {
        printf("huge %lu\n", huge_bytes(start) / BLOCK);
        blocks_by_node(start, bytes, counts);
        print_counts("blocks", counts);
    } else {
        /* A page that the kernel moves at this moment is counted nowhere. */
        for (int tries = 0; tries < 100; tries++) {
            unsigned long sum = 0;
            pages_by_node(start, counts);
            for (int node = 0; node < NODES; node++)
                sum += counts[node];
            if (sum == bytes / 4096)
                break;
        }
        print_counts("pages", counts);
    }
    return 0;
}
