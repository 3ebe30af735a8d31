// Under --heap the C library itself asks for huge pages (madvise) whenever its heap grows, and nothing switches that off in a
// running program. One that confines itself to fewer calls (seccomp) ends then, as it does under glibc's tunable alone. Argument:
// whether the filter `allows` madvise or `forbids` it.
//# requires: thp=madvise
//# bare: forbids
//# exec: -- forbids
//# exec: --heap -- forbids
//# expect: signal=31
//# exec: --pages thp --via glibc -- forbids
//# expect: signal=31
//# exec: --heap -- allows
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void confine(int forbids)
{
    const struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, forbids ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, (struct sock_filter *)filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(int count, char **arguments)
{
    enum { BLOCKS = 40000, BYTES = 200 };
    static char *blocks[BLOCKS];
    CHECK(count == 2);
    confine(strcmp(arguments[1], "forbids") == 0);
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(BYTES)) != NULL);
        memset(blocks[i], i & 0xff, BYTES);
    }
    for (int i = 0; i < BLOCKS; i++)
        CHECK(is_all(blocks[i], BYTES, i & 0xff));
    return 0;
}
