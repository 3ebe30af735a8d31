// What libraries do that the program is linked with, or opens: see `cases.rs`, which builds them.
#include "check.h"
#include <dlfcn.h>

static void opened(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
    CHECK(library != NULL);
    void (*take)(void *) = (void (*)(void *))dlsym(library, "take");
    void *(*give)(size_t) = (void *(*)(size_t))dlsym(library, "give");
    void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(library, "resize");
    for (int i = 0; i < 3; i++) {
        char *block = filled_block(8 * MIB, 1);
        block = resize(block, 20 * MIB);
        CHECK(block != NULL && holds(block, 8 * MIB, 1));
        block = realloc(block, 40 * MIB);
        CHECK(block != NULL && holds(block, 8 * MIB, 1));
        take(block);
        block = give(8 * MIB);
        fill(block, 8 * MIB, 2);
        free(block);
        take(malloc(8 * MIB));
    }
}

int main(int count, char **words)
{
    if (count > 1)
        opened(words[1]);
    int *failures = (int *)dlsym(RTLD_DEFAULT, "failures");
    for (int i = 0; i < 6; i++) {
        char *block = filled_block(3 * MIB, i);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(holds(block, 3 * MIB, i) && (failures == NULL || *failures == 0));
            free(block);
            _exit(0);
        }
        CHECK(end_of(child) == 0 && holds(block, 3 * MIB, i));
        free(block);
    }
    CHECK(failures == NULL || *failures == 0);
    return 0;
}
