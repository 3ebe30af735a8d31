// One thread switches the agent on for the first time while another forks. The child may do what its parent did: switch it
// on, allocate, and fork. Once in the very middle, if the agent registers its fork handlers only then, and many times anyhow.
//# build: -pthread -rdynamic -ldl
//# bare:
//# exec:
//# inside: unset FIRSTTOUCH_AGENT; exec "$@"
//# expect: stdout=loaded
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

enum { TIMES = 25 };
typedef void (*handler)(void);
static int (*enable)(const char *, uint64_t, uint64_t);
static int in_main;

static void use(void)
{
    CHECK(enable == NULL || enable("thp", MIB, SIZE_MAX) == 0);
    char *block = calloc(3, MIB);
    CHECK(block != NULL && is_zero(block, 3 * MIB));
    free(block);
}

static void *fork_and_use(void *unused)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(LIMIT_S);
        use();
        pid_t grandchild = fork();
        CHECK(grandchild >= 0);
        if (grandchild == 0) {
            alarm(LIMIT_S);
            use();
            _exit(0);
        }
        CHECK(end_of(grandchild) == 0);
        use();
        _exit(0);
    }
    CHECK(end_of(child) == 0);
    return unused;
}

/* What pthread_atfork of the agent arrives at. */
int __register_atfork(handler before, handler in_parent, handler in_child, void *library)
{
    int (*next)(handler, handler, handler, void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__register_atfork");
    int answer = next(before, in_parent, in_child, library);
    pthread_t forker;
    if (in_main) {
        CHECK(pthread_create(&forker, NULL, fork_and_use, NULL) == 0);
        CHECK(pthread_join(forker, NULL) == 0);
    }
    return answer;
}

int main(void)
{
    in_main = 1;
    *(void **)&enable = dlsym(RTLD_DEFAULT, "firsttouch_agent_enable");
    for (int time = 0; time < TIMES; time++) {
        // In a child each, where nothing was switched on yet.
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(LIMIT_S);
            pthread_t forker;
            CHECK(pthread_create(&forker, NULL, fork_and_use, NULL) == 0);
            use();
            CHECK(pthread_join(forker, NULL) == 0);
            _exit(0);
        }
        CHECK(end_of(child) == 0);
    }
    if (enable != NULL)
        puts("loaded");
    return 0;
}
