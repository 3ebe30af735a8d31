// Another process limits the program's address space while it runs (prlimit PID): nobody is told, and the first to find no room
// may be a block, a mapping or a thread. What fits without us fits: also where the block is not to be placed, because placing was
// switched off or the block is too small.
//# once: what a limit allows
//# bare:
//# run: --pages thp
//# run: --pages 4k
//# run: --pages thp --min-size 300M
//# exec: --pages auto
#include "limit.h"
#include <dlfcn.h>
#include <pthread.h>

enum { BYTES = 200 * 1024 * 1024 };
static char *held;

static void *end_at_once(void *value) { return value; }

static void by_malloc(void) { touch(malloc(BYTES), BYTES); }
static void by_calloc(void) { touch(calloc(1, unknown(BYTES)), BYTES); }
static void by_alignment(void) { touch(aligned_alloc(4096, BYTES), BYTES); }
static void by_realloc(void)
{
    CHECK((held = realloc(held, BYTES)) != NULL && holds(held, 20 * MIB, 1));
}
static void by_mapping(void)
{
    CHECK(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}
static void by_thread(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, end_at_once, NULL) == 0 && pthread_join(thread, NULL) == 0);
    /* These do not promise to leave it: glibc 2.42 asks for guard pages that Linux 6.1 does not know. */
    errno = 77;
}

static void by_small_malloc(void) { fill(malloc(500 * KIB), 500 * KIB, 2); }

int main(void)
{
    static void (*const ways[])(void) = {by_malloc,  by_small_malloc, by_calloc, by_alignment,
                                         by_realloc, by_mapping,      by_thread};
    enum { WAYS = sizeof ways / sizeof *ways };
    /* The agent's, if there is one. */
    void (*switch_off)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "firsttouch_agent_disable");
    for (size_t i = 0; i < 2 * WAYS; i++) {
        IN_CHILD(i, {
            held = filled_block(20 * MIB, 1);
            CHECK(malloc(unknown(300 * MIB)) != NULL);
            free(malloc(50 * MIB));
            if (i >= WAYS && switch_off != NULL)
                switch_off();
            limit_by_other(GIB);
            errno = 77;
            ways[i % WAYS]();
            CHECK(errno == 77);
            CHECK(holds(held, 20 * MIB, 1));
            char *small = malloc(500 * KIB), *large = malloc(BYTES);
            CHECK(small != NULL && large != NULL);
            errno = 0;
            CHECK(malloc(2 * GIB) == NULL && errno == ENOMEM);
        });
    }
    return 0;
}
