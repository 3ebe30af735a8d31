// Threads with the smallest stack there is allocate, free, fork and start programs, and so does a handler of a signal, which then ends
// the program; however many variables there are.
//# requires: pool2m=16
//# bare:
//# bare: handler
//# expect: exit=3
//# run: --pages thp
//# expect: complete=true
//# run: --pages 2m --prefault
//# exec: --pages auto
//# run: --pages 4k --follow
//# run: --pages thp -- handler
//# expect: exit=3
//# expect: complete=true
//# expect: placed>=8M
//# run: --pages 4k -- handler
//# expect: exit=3
//# expect: complete=true
#include "check.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>

extern char **environ;

static void *allocate(void *unused)
{
    for (int i = 1; i < 20; i++) {
        char *block = malloc(i * MIB);
        memset(block, i, i * MIB);
        block = realloc(block, (i + 3) * MIB);
        free(block);
        free(calloc(i, MIB));
    }
    return unused;
}

static void *fork_once(void *unused)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    CHECK(end_of(child) == 0);
    return unused;
}

static void *spawn_once(void *unused)
{
    char *words[] = {"true", NULL};
    pid_t child;
    CHECK(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0);
    CHECK(end_of(child) == 0);
    return unused;
}

static void *exec_once(void *unused)
{
    char *words[] = {"true", NULL};
    pid_t child = vfork();
    if (child == 0) {
        execve("/bin/true", words, environ);
        _exit(9);
    }
    CHECK(end_of(child) == 0);
    return unused;
}

/* On a stack of its own, as small as programs make it. */
static void end_in_handler(int signal)
{
    (void)signal;
    exec_once(NULL);
    _exit(3);
}

static int handle(void)
{
    const size_t bytes = 8 * KIB;
    char *guarded = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED && mprotect(guarded + bytes, bytes, PROT_READ | PROT_WRITE) == 0);
    stack_t own = {.ss_sp = guarded + bytes, .ss_size = bytes};
    CHECK(sigaltstack(&own, NULL) == 0);
    struct sigaction action = {.sa_handler = end_in_handler, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    filled_block(8 * MIB, 1);
    *(volatile char *)NULL = 1;
    return 0;
}

int main(int count, char **arguments)
{
    for (int i = 0; i < 400; i++) {
        char name[20];
        snprintf(name, sizeof name, "VARIABLE_%d", i);
        CHECK(setenv(name, "", 1) == 0);
    }
    if (count > 1 && strcmp(arguments[1], "handler") == 0)
        return handle();
    void *(*const works[])(void *) = {allocate, fork_once, spawn_once, exec_once};
    pthread_attr_t small;
    CHECK(pthread_attr_init(&small) == 0);
    CHECK(pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, &small, works[i], NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return 0;
}
