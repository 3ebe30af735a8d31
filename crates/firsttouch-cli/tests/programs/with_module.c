/* Loads a module, takes memory of it, or of a second thread's arenas of the C library, which it fills, and ends when its parent has looked
   at it since: who looks sleeps in between. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long sleeps_of_parent(void) {
    char path[64], line[256];
    long count = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)getppid());
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    if (status) fclose(status);
    return count;
}

static void *fill_arenas(void *unused) {
    for (int block = 0; block < 200000; block++) {
        char *memory = malloc(1000);
        if (!memory) return NULL;
        memset(memory, 1, 1000);
    }
    return fill_arenas;
}

static int has_filled_arenas(void) {
    pthread_t thread;
    void *done = NULL;
    return pthread_create(&thread, NULL, fill_arenas, NULL) == 0 && pthread_join(thread, &done) == 0 && done;
}

int main(int count, char **words) {
    void *module = count > 1 ? dlopen(words[1], RTLD_NOW) : NULL;
    char *(*take)(size_t) = module ? (char *(*)(size_t))dlsym(module, "take") : NULL;
    if (!take || !(count > 2 ? has_filled_arenas() : take(96 << 20) != NULL)) return 1;
    long before = sleeps_of_parent();
    for (int wait = 0; wait < 6000; wait++) {
        if (sleeps_of_parent() >= before + 8) return 0;
        nanosleep(&(struct timespec){0, 10 * 1000 * 1000}, NULL);
    }
    return 2;
}
