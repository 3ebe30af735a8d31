// A block whose protection the program changed, freed so: glibc unmaps it, so the next block must be an ordinary one
// again. The same for advice that stays with a mapping.
//# requires: pool2m=0
//# bare:
//# run: --pages thp
//# run: --pages 4k
//# run: --pages auto
#include "check.h"
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>

static char *block(void)
{
    void *address = NULL;
    CHECK(posix_memalign(&address, 4096, 8 * MIB) == 0);
    fill(address, 8 * MIB, 1);
    return address;
}

int main(void)
{
    /* glibc alone maps these blocks, however many of them it has seen freed. */
    CHECK(mallopt(M_MMAP_THRESHOLD, MIB) == 1);
    char *changed = block();
    CHECK(mprotect(changed + MIB, MIB, PROT_READ) == 0);
    free(changed);
    char *again = block();
    fill(again, 8 * MIB, 2);
    CHECK(holds(again, 8 * MIB, 2));
    free(again);

    changed = block();
    CHECK(mprotect(changed + 4 * MIB, 2 * MIB, PROT_NONE) == 0);
    free(changed);
    again = calloc(1, 8 * MIB);
    CHECK(again != NULL && is_zero(again, 8 * MIB));
    free(again);

    changed = block();
    CHECK(madvise(changed, 8 * MIB, MADV_DONTFORK) == 0);
    free(changed);
    again = block();
    fill(again, 8 * MIB, 3);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(holds(again, 8 * MIB, 3) ? 0 : 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
