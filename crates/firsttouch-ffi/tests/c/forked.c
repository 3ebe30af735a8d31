/* One thread begins the session while another forks. The child may do what its parent did: begin it, allocate, and fork. Once in
   the very middle, if the library registers its handlers of forks only then, and many times anyhow. */
#include "check.h"
#include <dlfcn.h>
#include <firsttouch.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 25, LIMIT_S = 60 };
typedef void (*handler)(void);
static int in_main;

static void use(void)
{
    CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    char *block = calloc(3, MIB);
    CHECK(block && block[0] == 0 && block[3 * MIB - 1] == 0);
    free(block);
}

static void check_end_of(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *fork_and_use(void *unused)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(LIMIT_S);
        use();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            alarm(LIMIT_S);
            use();
            _exit(0);
        }
        check_end_of(grandchild);
        use();
        _exit(0);
    }
    check_end_of(child);
    return unused;
}

/* What pthread_atfork of the library arrives at. */
int __register_atfork(handler before, handler in_parent, handler in_child, void *library)
{
    int (*next)(handler, handler, handler, void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__register_atfork");
    int answer = next(before, in_parent, in_child, library);
    if (in_main) {
        pthread_t forker;
        CHECK(pthread_create(&forker, NULL, fork_and_use, NULL) == 0);
        CHECK(pthread_join(forker, NULL) == 0);
    }
    return answer;
}

int main(void)
{
    in_main = 1;
    for (int time = 0; time < TIMES; time++) {
        /* In a child each, where nothing has begun yet. */
        pid_t child = fork();
        if (child == 0) {
            alarm(LIMIT_S);
            pthread_t forker;
            CHECK(pthread_create(&forker, NULL, fork_and_use, NULL) == 0);
            use();
            CHECK(pthread_join(forker, NULL) == 0);
            _exit(0);
        }
        check_end_of(child);
    }
    puts("done");
    return 0;
}
