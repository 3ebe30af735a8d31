/* Two threads map a page, touch it and unmap it, ROUNDS times each: of every one the other's processor has to be told.
 *
 *   unmap [ROUNDS]      default 5000
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int rounds = 5000;

static void *unmap(void *unused) {
    for (int round = 0; round < rounds; round++) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) exit(1);
        *page = 1;
        munmap(page, 4096);
    }
    return unused;
}

int main(int count, char **words) {
    if (count > 1) rounds = atoi(words[1]);
    pthread_t other;
    if (pthread_create(&other, NULL, unmap, NULL) != 0) return 1;
    unmap(NULL);
    return pthread_join(other, NULL);
}
