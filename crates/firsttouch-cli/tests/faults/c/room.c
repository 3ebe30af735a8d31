// In a control group that has room for what a program touches, and not for all that it allocates: who touches little is not killed, for
// what huge pages or prefaulting would take neither, also where the group is half full of something else. What there is room for is
// created and huge.
//# requires: cgroup=192M
//# run: --prefault -- private 640 0 64
//# expect: shortfall=untouched>=512M where thp linux>=6.7
//# run: --prefault --pages 2m -- private 640 0 64
//# run: --prefault=background -- private 640 0 64
//# run: --prefault --heap -- private 640 0 64
//# run: --prefault -- shared 640 0 64
//# run: --prefault --pages auto -- shared 640 0 64
//# exec: --prefault -- many 640 0 8
//# exec: --prefault=background -- many 640 0 8
//# run: -- private 150 110 16
//# expect: shortfall=sparse-use>=128K where thp
//# run: --pages auto -- private 150 110 16
//# run: --prefault -- private 150 110 16
//# run: --prefault=background -- private 150 110 16
//# exec: --follow -- forked 150 110 16
//# run: --prefault -- private 96 0 16
//# expect: pages=2m>=98% where thp
//# expect: absent=untouched where thp
//# run: --prefault -- many 96 0 16
//# expect: pages=2m>=98% where thp
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* So many MiB in pieces that nobody places. */
static int use(int mib)
{
    for (int more = 4 * mib; more > 0; more--) {
        char *small = malloc(256 << 10);
        if (!small)
            return 0;
        memset(small, 1, 256 << 10);
    }
    return 1;
}

/* One page in every 2 MiB of a block of so many MiB is touched. */
static void *touch(void *mib)
{
    size_t bytes = (size_t)mib << 20;
    char *block = malloc(bytes);
    if (!block)
        exit(3);
    for (size_t at = 0; at < bytes; at += 2 << 20)
        block[at] = 1;
    return block;
}

/* room HOW MIB FIRST MORE: so many small MiB first, then MIB of which little is touched, and then more small ones. */
int main(int count, char **words)
{
    if (count != 5)
        return 4;
    size_t mib = atoi(words[2]);
    if (!use(atoi(words[3])))
        return 3;
    if (!strcmp(words[1], "shared")) {
        char *block = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED)
            return 3;
        for (size_t at = 0; at < mib << 20; at += 2 << 20)
            block[at] = 1;
    } else if (!strcmp(words[1], "many")) {
        // At the same time, in blocks of which some fit.
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            if (pthread_create(&threads[i], NULL, touch, (void *)(mib / 8)))
                return 3;
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    } else if (!strcmp(words[1], "forked")) {
        pid_t child = fork();
        if (child == 0) {
            touch((void *)mib);
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status)
            return 5;
    } else {
        touch((void *)mib);
    }
    return use(atoi(words[4])) ? 0 : 3;
}
