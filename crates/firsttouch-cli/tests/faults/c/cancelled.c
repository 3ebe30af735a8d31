// malloc is no cancellation point (pthreads(7)): a thread that is to be cancelled goes on through it.
//# once: threads
//# bare:
//# run: --pages thp --prefault
//# run: --pages thp --prefault=background
//# run: --pages thp
//# run: --pages 2m
#include "check.h"
#include <pthread.h>

static volatile int begun, asked;
static char *block;

static void *allocate(void *unused)
{
    begun = 1;
    while (!asked)
        ;
    block = MADE(malloc(300 * MIB));
    block = MADE(realloc(block, 500 * MIB));
    fill(block, 16 * MIB, 1);
    pthread_testcancel();
    CHECK(!"cancelled");
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
    while (!begun)
        ;
    CHECK(pthread_cancel(thread) == 0);
    asked = 1;
    void *result = NULL;
    CHECK(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    CHECK(block != NULL && holds(block, 16 * MIB, 1));
    free(block);
    return 0;
}
