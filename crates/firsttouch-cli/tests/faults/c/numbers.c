// What the agent reads and writes for its record while threads run is nowhere among the program's files, one of whose threads may count on
// the next number: it has what it needs also where the program has no number left.
//# once: what is opened
//# run: --pages thp
//# expect: placed>=64M
//# expect: pages=2m>=90% where thp
//# expect: complete=true
//# run: --pages thp --prefault=background
//# expect: placed>=64M
//# expect: complete=true
#include "check.h"
#include <pthread.h>
#include <sys/resource.h>

static void *wait_for_the_end(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    struct rlimit numbers;
    CHECK(pthread_create(&thread, NULL, wait_for_the_end, NULL) == 0);
    int next = dup(0);
    CHECK(next >= 0 && close(next) == 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &numbers) == 0);
    numbers.rlim_cur = next;
    CHECK(setrlimit(RLIMIT_NOFILE, &numbers) == 0);
    CHECK(dup(0) == -1 && errno == EMFILE);
    /* At its end nothing is left of it. */
    free(filled_block(64 * MIB, 1));
    return 0;
}
