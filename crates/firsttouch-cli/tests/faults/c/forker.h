/* One thread switches something on for the first time (`use`, of who includes this) while another forks. The child may do what its parent
 * did: switch it on, allocate, and fork. Once in the very middle, if fork handlers are registered only then, and many times anyhow. */
#ifndef FORKER_H
#define FORKER_H
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

typedef void (*handler)(void);
static int is_first;

static void use(void);

static void fork_and_use_twice(void)
{
    alarm(LIMIT_S);
    use();
    IN_CHILD(0, {
        alarm(LIMIT_S);
        use();
    });
    use();
}

static void *fork_and_use(void *unused)
{
    IN_CHILD(0, fork_and_use_twice());
    return unused;
}

/* What pthread_atfork of whoever is switched on arrives at. */
int __register_atfork(handler before, handler in_parent, handler in_child, void *library)
{
    int (*next)(handler, handler, handler, void *);
    *(void **)&next = dlsym(RTLD_NEXT, "__register_atfork");
    int answer = next(before, in_parent, in_child, library);
    pthread_t forker;
    if (is_first) {
        CHECK(pthread_create(&forker, NULL, fork_and_use, NULL) == 0);
        CHECK(pthread_join(forker, NULL) == 0);
    }
    return answer;
}

/* In a child each, where nothing was switched on yet. */
static void use_while_forking(void)
{
    is_first = 1;
    for (int time = 0; time < 25; time++)
        IN_CHILD(time, {
            alarm(LIMIT_S);
            pthread_t forker;
            CHECK(pthread_create(&forker, NULL, fork_and_use, NULL) == 0);
            use();
            CHECK(pthread_join(forker, NULL) == 0);
        });
}
#endif
