// Children that have their parent's memory until they execute: by vfork, posix_spawn, pidfd_spawn and clone, some with other rights, and some
// that allocate, resize and free meanwhile. What the parent has stays what it is, also on reserved pages and beside what is held for reuse,
// and in the end all of it is given back.
//# once: who has the memory
//# requires: pool2m=32
//# bare:
//# run: --pages 2m
//# expect: complete=true
//# run: --pages 2m --follow
//# run: --pages thp --prefault=background
//# exec: --pages 4k
#include "check.h"
#include <dlfcn.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

enum { BLOCKS = 3, ROUNDS = 2 };

static char program[] = "/proc/self/exe";
static char *const words[] = {program, "child", NULL};
extern char **environ;
static char *blocks[BLOCKS];
static char stack[256 << 10] __attribute__((aligned(64)));

static size_t bytes_of(int i)
{
    return (size_t)(i + 1) * MIB + 100 * KIB;
}

static void check(void)
{
    for (int i = 0; i < BLOCKS; i++)
        CHECK(holds(blocks[i], bytes_of(i), (unsigned)i));
}

/* Free and made again, and a little more is free behind. */
static void change(void)
{
    for (int i = 0; i < BLOCKS; i += 2) {
        free(blocks[i]);
        blocks[i] = filled_block(bytes_of(i), (unsigned)i);
    }
    free(filled_block(4 * MIB, 9));
}

/* In the child, whose memory it is as well. */
static void use(void)
{
    change();
    char *more = filled_block(3 * MIB, 7);
    more = MADE(realloc(more, 5 * MIB));
    CHECK(holds(more, 3 * MIB, 7));
    free(more);
}

static void take_rights(void)
{
    CHECK(setgid(getgid() ? getgid() : 65534) == 0 && setuid(getuid() ? getuid() : 65534) == 0);
}

static int uses_and_executes(void *unused)
{
    (void)unused;
    use();
    execve(program, words, environ);
    _exit(3);
}

static int uses(void *unused)
{
    (void)unused;
    use();
    _exit(0);
}

static pid_t start_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        take_rights();
        execve(program, words, environ);
        _exit(3);
    }
    return child;
}

static pid_t start_using(void)
{
    pid_t child = vfork();
    if (child == 0) {
        use();
        take_rights();
        execv(program, words);
        _exit(3);
    }
    return child;
}

static pid_t start_clone(void)
{
    return clone(uses_and_executes, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static pid_t start_clone_that_ends(void)
{
    return clone(uses, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static void describe(posix_spawnattr_t *how)
{
    struct sched_param none = {0};
    CHECK(posix_spawnattr_init(how) == 0 && posix_spawnattr_setschedpolicy(how, SCHED_OTHER) == 0);
    CHECK(posix_spawnattr_setschedparam(how, &none) == 0);
    CHECK(posix_spawnattr_setflags(how, POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETSCHEDULER) == 0);
}

static pid_t start_spawn(void)
{
    posix_spawnattr_t how;
    pid_t child = 0;
    describe(&how);
    CHECK(posix_spawn(&child, program, NULL, &how, words, environ) == 0);
    return child;
}

/* Since glibc 2.39; it answers that the kernel has no such call where that is so. */
static pid_t start_pidfd_spawn(void)
{
    int (*start)(int *, const char *, const void *, const posix_spawnattr_t *, char *const *, char *const *);
    posix_spawnattr_t how;
    int descriptor = -1;
    describe(&how);
    *(void **)&start = dlsym(RTLD_DEFAULT, "pidfd_spawn");
    if (!start || start(&descriptor, program, NULL, &how, words, environ) != 0)
        return start_spawn();
    siginfo_t end;
    CHECK(waitid(P_PIDFD, (id_t)descriptor, &end, WEXITED | WNOWAIT) == 0 && close(descriptor) == 0);
    return end.si_pid;
}

int main(int count, char **arguments)
{
    if (count == 2 && !strcmp(arguments[1], "child")) {
        char *own = filled_block(4 * MIB, 5);
        return holds(own, 4 * MIB, 5) ? 0 : 4;
    }
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = filled_block(bytes_of(i), (unsigned)i);
    change();
    pid_t (*ways[])(void) = {start_vfork, start_using, start_clone, start_clone_that_ends, start_spawn, start_pidfd_spawn};
    size_t mapped = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
            pid_t child = ways[way]();
            CHECK(child > 0);
            CHECK(end_of(child) == 0);
            check();
            change();
            check();
        }
        size_t now = proc_bytes("/proc/self/status", "HugetlbPages:") + proc_bytes("/proc/self/status", "VmRSS:");
        mapped = round == 0 ? now : mapped;
        CHECK(now <= mapped + 4 * MIB);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    malloc_trim(0);
    CHECK(proc_bytes("/proc/self/status", "HugetlbPages:") == 0);
    return 0;
}
