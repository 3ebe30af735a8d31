/* 64 MiB of small pages, and a file that is open: says its number, waits for the end of its input, and looks whether all is
   as it was. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (64UL << 20)
#define HUGE_PAGE (2UL << 20)

int main(int count, char **words)
{
    char *all = mmap(NULL, BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), byte;
    if (all == MAP_FAILED)
        return 2;
    char *block = (char *)(((uintptr_t)all + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    madvise(block, BYTES, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < BYTES; at += 4096)
        memset(block + at, (int)(at / 4096 % 251), 4096);
    madvise(block, BYTES, MADV_HUGEPAGE);
    if (count > 1 && open(words[1], O_RDWR | O_CREAT, 0600) < 0)
        return 3;
    dprintf(1, "%d\n", getpid());
    while (read(0, &byte, 1) > 0)
        ;
    for (size_t at = 0; at < BYTES; at++)
        if (block[at] != (char)(at / 4096 % 251))
            return 4;
    return 0;
}
