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
        pages_by_node(start, counts);
        print_counts("pages", counts);
    }
    return 0;
}
