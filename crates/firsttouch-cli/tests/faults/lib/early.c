/* Its constructor runs before that of a preload library: it allocates, starts programs, and registers handlers of fork that
   allocate. */
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *kept;
int failures;

static void check(int holds)
{
    failures += !holds;
}

static void allocate(void)
{
    char *block = malloc(8 << 20);
    check(block != NULL);
    memset(block, 1, 8 << 20);
    block = realloc(block, 20 << 20);
    check(block != NULL && block[(8 << 20) - 1] == 1);
    free(block);
    free(kept);
    kept = calloc(1, 3 << 20);
    check(kept != NULL && kept[2 << 20] == 0);
}

static int end_of(pid_t child)
{
    int status = -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}

__attribute__((constructor)) static void begin(void)
{
    kept = malloc(100);
    pthread_atfork(allocate, allocate, allocate);
    char *words[] = {"true", NULL};
    pid_t child;
    int answer = posix_spawnp(&child, "true", NULL, NULL, words, environ);
    check(answer == 0 && end_of(child) == 0);
    child = vfork();
    if (child == 0) {
        execvp("true", words);
        _exit(1);
    }
    check(end_of(child) == 0);
    check(system("exit 0") == 0);
}
