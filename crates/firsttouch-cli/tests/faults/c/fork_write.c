// A fork, and both sides write one byte to each 2 MiB block, which splits its huge page. Contents stay each side's own.
// Some time after the child is gone, a large allocation puts the huge pages together again
// (MADV_COLLAPSE, Linux 6.1).
//# bare: contents
//# run: --pages thp -- contents
//# expect: complete=true
//# expect: shortfall=lost-after-fork>=32M where thp
//# run: --pages thp -- restored
//# where: thp linux>=6.1
//# expect: complete=true
//# expect: pages=2m>=90%
//# exec: --pages thp -- restored
//# where: thp linux>=6.1
#include "check.h"

static const size_t BYTES = 96 * MIB;

static void write_here_and_there(char *block, char byte)
{
    for (size_t at = HUGE_PAGE / 2; at < BYTES; at += HUGE_PAGE)
        block[at] = byte;
}

/* All is as it was filled, but for the bytes that were written. */
static void check(char *block, char byte)
{
    for (size_t at = HUGE_PAGE / 2; at < BYTES; at += HUGE_PAGE) {
        CHECK(block[at] == byte);
        block[at] = (char)pattern_at(at, 5);
    }
    CHECK(holds(block, BYTES, 5));
    write_here_and_there(block, byte);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    int restored = strcmp(arguments[1], "restored") == 0;
    char *block = filled_block(BYTES, 5);
    size_t before = restored ? huge_bytes() : 0;
    CHECK(!restored || before >= BYTES - HUGE_PAGE);
    int gate[2];
    CHECK(pipe(gate) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        close(gate[1]);
        write_here_and_there(block, 1);
        check(block, 1);
        // The parent has written by then.
        CHECK(read(gate[0], &byte, 1) == 1);
        check(block, 1);
        char *more = calloc(8, MIB);
        CHECK(more != NULL && is_zero(more, 8 * MIB));
        free(block);
        _exit(0);
    }
    write_here_and_there(block, 2);
    CHECK(write(gate[1], "x", 1) == 1);
    check(block, 2);
    CHECK(end_of(child) == 0);
    check(block, 2);
    if (restored) {
        CHECK(huge_bytes() < BYTES / 2);
        // Not before 100 ms have passed, and then in pieces of some 20 ms a call.
        double limit_s = now_s() + LIMIT_S;
        while (huge_bytes() < BYTES - HUGE_PAGE) {
            CHECK(now_s() < limit_s);
            free(malloc(2 * MIB));
        }
        check(block, 2);
        // The receipt is of the moment with most memory: this is to be it.
        filled_block(8 * MIB, 3);
    }
    return 0;
}
