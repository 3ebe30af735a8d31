// What pages call ./simulate: it fills some memory, whatever it is told, and says how quick it was. With SIMULATE_FOR it is there for
// so many seconds, for those who look at a process.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(void)
{
    const size_t bytes = 32 << 20;
    const char *seconds = getenv("SIMULATE_FOR");
    char *memory = malloc(bytes);
    if (!memory)
        return 1;
    memset(memory, 1, bytes);
    if (seconds)
        nanosleep(&(struct timespec){.tv_sec = atoi(seconds)}, NULL);
    printf("tps = %d.5\n", 100 + memory[bytes / 2]);
    free(memory);
    return 0;
}
