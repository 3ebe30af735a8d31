// Many small blocks: the C library's heap comes to lie on huge pages if that is asked for, and only then.
//# requires: thp=madvise
//# run: --pages thp --heap -- huge
//# expect: complete=true
//# expect: note~on huge pages, heap and placed blocks together
//# run: --pages thp -- small
//# expect: complete=true
#include "check.h"

enum { BLOCKS = 400000, BYTES = 200 };

int main(int count, char **arguments)
{
    CHECK(count == 2);
    static char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(BYTES)) != NULL);
        memset(blocks[i], i & 0xff, BYTES);
    }
    size_t huge = huge_bytes();
    if (strcmp(arguments[1], "huge") == 0)
        CHECK(huge >= 70 * MIB);
    else
        CHECK(huge < 4 * MIB);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK(is_all(blocks[i], BYTES, i & 0xff));
        free(blocks[i]);
    }
    return 0;
}
