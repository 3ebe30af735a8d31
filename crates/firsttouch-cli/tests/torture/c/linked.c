/* A library that the program is linked to. Its constructor runs before that of a preloaded library, and registers handlers
 * of fork that allocate: theirs are called last before a fork, and first after it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1200 * 1024 };
static __thread unsigned char *across;
int linked_handlers = 1;

static void before(void)
{
    if (!linked_handlers)
        return;
    across = malloc(BYTES);
    memset(across, 0x3c, BYTES);
}

static void after(void)
{
    if (!linked_handlers)
        return;
    if (across[0] != 0x3c || memcmp(across, across + 1, BYTES - 1) != 0)
        abort();
    across = realloc(across, 2 * BYTES);
    if (across[BYTES - 1] != 0x3c)
        abort();
    free(across);
}

__attribute__((constructor)) static void begin(void)
{
    if (pthread_atfork(before, after, after) != 0)
        abort();
}
