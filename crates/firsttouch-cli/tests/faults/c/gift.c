// Memory that a program gives to a pipe (vmsplice) and frees, as glibc would unmap it: the pipe has the very pages, in which the next
// owner must not write.
//# once: mappings
//# bare:
//# run: --pages thp
//# run: --pages thp --prefault
//# run: --pages 4k
//# run: --pages 64k --quiet
//# run: --pages 2m --quiet
#include "check.h"
#include <sys/syscall.h>
#include <sys/uio.h>

/* Larger than what glibc would keep, and used so that we keep it. A pipe has room for 16 parts of pages. */
enum { BYTES = 36 * 1024 * 1024, FIRST = 20 * 1024, GIVEN = 48 * 1024 };

int main(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    for (unsigned round = 0; round < 6; round++) {
        char *block = malloc(BYTES), said[GIVEN];
        CHECK(block != NULL);
        memset(block, 1, BYTES);
        fill(block, GIVEN, round);
        struct iovec parts[2] = {{block, FIRST}, {block + FIRST, GIVEN - FIRST}};
        ssize_t given = round < 2   ? vmsplice(ends[1], parts, 2, 0)
                        : round < 4 ? vmsplice(ends[1], parts, 2, SPLICE_F_GIFT)
                                    : syscall(SYS_vmsplice, ends[1], parts, 2, 0);
        CHECK(given == GIVEN);
        free(block);
        char *next = MADE(malloc(BYTES));
        memset(next, '#', BYTES);
        for (ssize_t got = 0, more; got < GIVEN; got += more) {
            more = read(ends[0], said + got, GIVEN - got);
            CHECK(more > 0);
        }
        CHECK(holds(said, GIVEN, round));
        free(next);
    }
    CHECK(vmsplice(ends[1], (void *)8, 1, 0) == -1 && errno == EFAULT);
    CHECK(vmsplice(ends[1], NULL, 0, 0) == 0);
    return 0;
}
