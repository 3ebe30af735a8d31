// Who allocates more than its control group allows, and uses little of it, has the rest for something else and is not killed for
// what huge pages would take; who stays within the limit has them.
//# requires: cgroup=192M
//# run: -- 640 4096 128
//# expect: shortfall=sparse-use>=1M where thp
//# run: --pages 2m --quiet -- 640 4096 128
//# run: --heap -- 640 4096 128
//# run: -- 128 2097152 0
//# expect: pages=2m>=98% where thp
//# expect: absent=sparse-use
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* beyond MIB BYTES MORE: one block, of which so many bytes in every 2 MiB are written, and then so many MiB in small ones. */
int main(int count, char **words) {
    if (count != 4) return 4;
    size_t bytes = (size_t)atoi(words[1]) << 20, part = atoi(words[2]);
    char *block = malloc(bytes);
    if (!block) return 3;
    for (size_t at = 0; at < bytes; at += 2 << 20) memset(block + at, 1, part);
    for (int more = 4 * atoi(words[3]); more > 0; more--) {
        char *small = malloc(256 << 10);
        if (!small) return 3;
        memset(small, 1, 256 << 10);
    }
    for (size_t at = 0; at < bytes; at += 2 << 20)
        if (block[at] != 1) return 5;
    return 0;
}
