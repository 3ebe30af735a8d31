// A program that confines itself (seccomp) to the system calls that its C library makes: for memory, and to end. Any other
// would be its end. So does a child that only clone(2) or `_Fork` knows of, and what the program executes then. Arguments: what, of it
// alone or of `all` its threads, and up to how many times 4 MiB, if not 20.
//# once: what a filter allows
//# bare: nothing
//# bare: blocks
//# emulated: blocks 3
//# bare: exits
//# bare: copies 7
//# exec: -- nothing
//# exec: -- exits
//# exec: --pages thp -- blocks
//# emulated: blocks 3
//# exec: --pages thp --min-size 64K -- blocks
//# emulated: blocks 3
//# exec: --pages thp --prefault -- blocks
//# emulated: blocks 3
//# exec: --pages thp --prefault=background -- blocks
//# emulated: blocks 3
//# exec: --pages thp --attachable -- blocks
//# emulated: blocks 3
//# bare: all 4
//# exec: --pages thp --attachable -- all 4
//# emulated: all 3
//# exec: --pages thp --prefault=background -- all 4
//# emulated: all 3
//# exec: --pages 4k -- blocks
//# emulated: blocks 3
//# exec: --pages 64k -- blocks
//# emulated: blocks 3
//# exec: --pages 2m -- blocks
//# emulated: blocks 3
//# run: --pages thp -- blocks
//# emulated: blocks 3
//# expect: shortfall=seccomp-filter
//# expect: complete=true
//# expect: placed>=12M
//# run: --pages thp -- exits
//# expect: shortfall=seccomp-filter
//# run: --pages thp -- copies 7
//# emulated: copies 3
//# expect: absent=seccomp-filter
//# expect: complete=true
//# run: --pages thp --prefault=background -- copies 7
//# emulated: copies 3
//# expect: complete=true
//# exec: --pages 2m -- copies 7
//# emulated: copies 3
//# bare: others
//# exec: --pages thp -- others
//# exec: --pages 2m -- others
//# exec: --threads 0 -- others
//# run: --pages thp -- others
//# bare: becomes 2
//# exec: -- becomes 2
//# exec: --follow --prefault -- becomes 2
//# run: -- becomes 2
//# expect: shortfall=seccomp-filter
//# bare: finds_out
//# run: --pages thp -- finds_out
//# expect: absent=seccomp-filter
//# expect: placed>=12M
#include "copy.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>

extern char **environ;

/* What the program is left: the calls for memory, those for threads and processes as well, those of the loader as well. */
enum { MEMORY = 12, PROCESSES = MEMORY + 13, PROGRAMS = PROCESSES + 10 };

static void confine(int all, int count)
{
    const int allowed[] = {SYS_read, SYS_write, SYS_mmap, SYS_munmap, SYS_mremap, SYS_brk, SYS_madvise, SYS_mprotect, SYS_futex,
                           SYS_exit_group, SYS_clock_gettime, SYS_newfstatat,
                           /* Of threads and processes. */
                           SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_gettid, SYS_exit, SYS_getrandom,
                           SYS_prlimit64, SYS_wait4, SYS_execve, SYS_rt_sigaction, SYS_prctl,
                           /* Of the loader. */
                           SYS_openat, SYS_close, SYS_fstat, SYS_pread64, SYS_faccessat, SYS_readlinkat, SYS_set_tid_address,
#ifdef __x86_64__
                           SYS_access, SYS_readlink, SYS_arch_prctl,
#else
                           /* That of glibc 2.43. */
                           SYS_uname, SYS_close, SYS_close,
#endif
    };
    CHECK(sizeof allowed / sizeof *allowed == PROGRAMS);
    struct sock_filter filter[2 * PROGRAMS + 2];
    int length = 0;
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {length, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (all)
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    else
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void use_blocks(char *early, size_t most)
{
    for (size_t i = 1; i < most; i++) {
        char *block = filled_block(i * 4 * MIB, 1);
        block = realloc(block, i * 6 * MIB);
        CHECK(block != NULL && holds(block, i * 4 * MIB, 1));
        free(block);
    }
    early = realloc(early, 16 * MIB);
    CHECK(early != NULL && holds(early, 12 * MIB, 3));
    char *cleared = calloc(1, 10 * MIB);
    CHECK(cleared != NULL && is_zero(cleared, 10 * MIB));
    free(early);
    free(cleared);
}

static void *nothing(void *unused)
{
    return unused;
}

/* What the C library does for a thread and a process, and nothing else; and a second filter. */
static void start_others(void)
{
    confine(0, PROCESSES);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(4);
    CHECK(end_of(child) == 4);
    char *words[] = {"none", NULL};
    CHECK(execve("/dev/null/none", words, words + 1) == -1 && errno == ENOTDIR);
}

/* Becomes a program that uses memory, after children did, each in a way of its own. */
static void become(char *most)
{
    char self[4096], *name, *words[] = {self, "blocks_only", most, NULL};
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = 0;
    confine(0, PROGRAMS);
    pid_t child;
    CHECK(posix_spawn(&child, self, NULL, NULL, words, environ) == 0);
    CHECK(end_of(child) == 0);
    name = strrchr(self, '/');
    *name++ = 0;
    CHECK(setenv("PATH", self, 1) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0)
        execvp(name, words);
    CHECK(end_of(child) == 0);
    name[-1] = '/';
    execv(self, words);
    CHECK(!"execv");
}

/* A program that finds out whether the kernel has filters has none yet. */
static void find_out(void)
{
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == -1 && errno == EFAULT);
    char *block = filled_block(12 * MIB, 3);
    CHECK(holds(block, 12 * MIB, 3));
}

int main(int count, char **words)
{
    const char *word = count > 1 ? words[1] : "";
    size_t most = count > 2 ? strtoul(words[2], NULL, 10) : 20;
    int all = strcmp(word, "all") == 0, others = strcmp(word, "others") == 0;
    if (strcmp(word, "finds_out") == 0) {
        find_out();
        return 0;
    }
    if (strcmp(word, "becomes") == 0)
        become(words[2]);
    char *early = NULL, *volatile late = NULL;
    if (strcmp(word, "blocks_only") == 0) {
        early = filled_block(12 * MIB, 3);
        use_blocks(early, most);
        return 0;
    }
    if (all || others || strcmp(word, "blocks") == 0 || strcmp(word, "copies") == 0)
        early = filled_block(12 * MIB, 3);
    for (int other = 0; strcmp(word, "copies") == 0; other++) {
        if (other == 2)
            return 0;
        pid_t child = copy(other);
        if (child == 0) {
            confine(0, MEMORY);
            use_blocks(early, most);
            _exit(0);
        }
        CHECK(end_of(child) == 0);
    }
    if (all) {
        // Whatever a thread of somebody else is at in that moment.
        pid_t child = -1;
        for (int round = 0; round < 20 && child != 0; round++) {
            child = fork();
            CHECK(child >= 0 && (child == 0 || end_of(child) == 0));
        }
        late = malloc(600 * MIB);
        confine(all, MEMORY);
        // So long that one which looks about it every second has done so.
        for (double end = now_s() + 1.5; child > 0 && now_s() < end;)
            ;
    } else {
        confine(all, others ? PROCESSES : MEMORY);
    }
    if (others) {
        start_others();
        return 0;
    }
    if (strcmp(word, "exits") == 0)
        _exit(0);
    if (all || strcmp(word, "blocks") == 0)
        use_blocks(early, most);
    free(late);
    return 0;
}
