/* A library that allocates when it is loaded and frees when it goes. */
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1500 * 1024 };
static unsigned char *made, *zeroed;

int plugin_is_whole(void);

__attribute__((constructor)) static void begin(void)
{
    made = malloc(BYTES);
    zeroed = calloc(2, BYTES);
    memset(made, 0x5a, BYTES);
}

int plugin_is_whole(void)
{
    return made[0] == 0x5a && memcmp(made, made + 1, BYTES - 1) == 0 && zeroed[0] == 0 &&
           memcmp(zeroed, zeroed + 1, 2 * BYTES - 1) == 0;
}

__attribute__((destructor)) static void end(void)
{
    if (!plugin_is_whole())
        abort();
    made = realloc(made, 3 * BYTES);
    if (made[BYTES - 1] != 0x5a)
        abort();
    free(made);
    free(zeroed);
}
