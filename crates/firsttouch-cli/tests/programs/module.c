/* A module with an allocator of its own, whose functions have names of their own, too. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#ifdef NAMELESS
static
#endif
void *module_je_arena_malloc_hard(size_t bytes) {
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* On small pages also where the kernel gives huge ones to all. */
char *take(size_t bytes) {
    char *block = module_je_arena_malloc_hard(bytes);
    if (block && madvise(block, bytes, MADV_NOHUGEPAGE) == 0) memset(block, 1, bytes);
    return block;
}
