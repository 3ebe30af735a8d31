/* Placed blocks that are freed through pointers, as libcurl frees: a variable of a library that begins as a pointer to
 * C's function; one that the program has copied, which leads to the C library; and what the C library itself makes. */
#include "check.h"
#include <dlfcn.h>
#include <firsttouch.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void (*take)(void *) = free;
void *(*grow)(void *, size_t) = realloc;
void *(*const make)(size_t) = malloc;

static void at_fork(void) { free(malloc(8 * MIB)); }

static size_t placed(void) { return firsttouch_ism_list(NULL, 0); }

int main(void)
{
    alarm(300);
    void (*copied)(void *) = take;
    CHECK(firsttouch_ism_on("thp", MIB, 1024 * MIB) == FIRSTTOUCH_RESULT_OK);
    char *block = malloc(8 * MIB);
    CHECK(block != NULL && placed() == 1);
    memset(block, 1, 8 * MIB);
    block = grow(block, 20 * MIB);
    CHECK(block != NULL && block[8 * MIB - 1] == 1 && placed() == 1);
    take(block);
    CHECK(placed() == 0);

    /* The C library makes its own. */
    block = malloc(4 * MIB);
    memset(block, 'x', 4 * MIB - 1);
    block[4 * MIB - 1] = 0;
    size_t before = placed();
    char *twice = strdup(block);
    CHECK(twice != NULL && placed() == before);
    take(twice);
    free(block);
    CHECK(placed() == 0);

    /* By a copy of the pointer: unmapped, and not known of. */
    block = make(8 * MIB);
    memset(block, 2, 8 * MIB);
    copied(block);
    block = malloc(8 * MIB);
    memset(block, 3, 8 * MIB);
    void *library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    ((void (*)(void *))dlsym(library, "free"))(block);

    /* Handlers of fork that allocate, registered after ours: they run before. */
    CHECK(pthread_atfork(at_fork, at_fork, at_fork) == 0);
    block = malloc(8 * MIB);
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            memset(block, 4, 8 * MIB);
            free(block);
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    /* Changed by a system call that has no function of its own. */
    char *changed = aligned_alloc(4096, 8 * MIB);
    CHECK(syscall(SYS_mprotect, changed, 4096, PROT_NONE) == 0);
    free(changed);
    changed = aligned_alloc(4096, 8 * MIB);
    memset(changed, 5, 8 * MIB);
    free(changed);
    free(block);
    puts("done");
    return 0;
}
