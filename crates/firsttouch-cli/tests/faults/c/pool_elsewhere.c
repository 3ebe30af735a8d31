// Pages of a pool that are held for reuse are there for whatever else the program wants of it: segments, files and mappings of files.
// Arguments: in which ways, one after the other.
//# once: all is on pages of a pool
//# requires: pool2m=24
//# bare: shmget memfd fallocate posix_fallocate mmap
//# run: --pages 2m -- shmget memfd fallocate posix_fallocate mmap
//# expect: complete=true
//# expect: pool>=40M where linux>=6.7
//# exec: --pages 2m -- mmap posix_fallocate fallocate memfd shmget
#include "check.h"
#include <sys/shm.h>

/* All pages but two, in blocks that leave none of them in part to others. */
enum { BLOCKS = 11 };
static const size_t BYTES = 22 * HUGE_PAGE;

static void place_and_free(void)
{
    char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((blocks[i] = malloc(2 * HUGE_PAGE - 4096)) != NULL);
        fill(blocks[i], 2 * HUGE_PAGE - 4096, i);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static int file_of_pool(void)
{
    int file = memfd_create("pool", MFD_HUGETLB);
    CHECK(file >= 0);
    return file;
}

static char *map_file(int file)
{
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(close(file) == 0);
    return memory;
}

static char *obtain(const char *way)
{
    if (!strcmp(way, "shmget")) {
        int segment = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600 | SHM_HUGETLB);
        CHECK(segment >= 0);
        char *memory = shmat(segment, NULL, 0);
        CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
        return memory;
    }
    if (!strcmp(way, "mmap"))
        return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    int file = file_of_pool();
    if (!strcmp(way, "fallocate"))
        CHECK(fallocate(file, 0, 0, BYTES) == 0);
    else if (!strcmp(way, "posix_fallocate"))
        CHECK(posix_fallocate(file, 0, BYTES) == 0);
    else
        CHECK(ftruncate(file, BYTES) == 0);
    return map_file(file);
}

int main(int count, char **ways)
{
    for (int i = 1; i < count; i++) {
        place_and_free();
        char *memory = obtain(ways[i]);
        CHECK(memory != MAP_FAILED);
        fill(memory, BYTES, i);
        CHECK(holds(memory, BYTES, i));
        CHECK((strcmp(ways[i], "shmget") ? munmap(memory, BYTES) : shmdt(memory)) == 0);
    }
    return 0;
}
