// Threads with the smallest stack there is allocate, free, fork and start programs.
//# bare:
//# run: --pages thp
//# expect: complete=true
//# run: --pages 2m --prefault
//# exec: --pages auto
//# run: --pages 4k --follow
#include "check.h"
#include <limits.h>
#include <pthread.h>
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

int main(void)
{
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
