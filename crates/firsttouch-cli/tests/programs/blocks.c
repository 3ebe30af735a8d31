/* Allocates, fills, grows and frees large blocks; with a word, it reads behind the end of one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    unsigned long sum = 0;
    (void)words;
    for (int round = 0; round < 20; round++) {
        unsigned char *block = malloc(4 << 20);
        memset(block, round + 1, 4 << 20);
        block = realloc(block, 8 << 20);
        for (int at = 0; at < 4 << 20; at += 997) sum += block[at];
        if (count > 1) sum += block[8 << 20];
        free(block);
    }
    printf("sum %lu\n", sum);
    return 6;
}
