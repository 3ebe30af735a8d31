/* sparse FILE MIB: shares memory in a file, of which it has written 300 pages of each 512. Each line of its input is answered with the
 * bytes that are free in the file system. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    const size_t bytes = strtoul(words[2], NULL, 10) << 20;
    const int file = open(words[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, (off_t)bytes))
        return 2;
    volatile char *memory =
        mmap((void *)0x200000000000, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
    if (memory == MAP_FAILED)
        return 2;
    for (size_t at = 0; at < bytes; at += 4096)
        if (at % (2 << 20) < 300 * 4096)
            memory[at] = 1;
    printf("ready %d\n", getpid());
    fflush(stdout);
    char word[64];
    struct statvfs about;
    while (scanf("%63s", word) == 1 && fstatvfs(file, &about) == 0) {
        printf("%lu\n", about.f_bavail * about.f_bsize);
        fflush(stdout);
    }
    return 0;
}
