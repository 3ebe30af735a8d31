/* watched MIB: has memory under a userfaultfd, which only a child has open: whoever watches the memory of a program need not be the
 * program. At the end of its input it looks whether all is as it was. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void give_up(const char *what)
{
    perror(what);
    _exit(2);
}

int main(int count, char **words)
{
    if (count != 2)
        return 2;
    const size_t bytes = strtoul(words[1], NULL, 10) << 20;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        give_up("mmap");
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    const int watch = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    if (watch < 0 || ioctl(watch, UFFDIO_API, &api))
        give_up("userfaultfd");
    struct uffdio_register range = {.range = {(unsigned long)memory, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (ioctl(watch, UFFDIO_REGISTER, &range))
        give_up("UFFDIO_REGISTER");
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    close(watch);
    printf("ready %d\n", getpid());
    fflush(stdout);
    while (getchar() != EOF) {}
    size_t sum = 0;
    for (size_t at = 0; at < bytes; at += 4096)
        sum += (size_t)memory[at];
    return sum == bytes / 4096 ? 0 : 3;
}
