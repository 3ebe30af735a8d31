/* A library that makes blocks, and one that takes them; the same file, built twice under other names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *make(size_t bytes) { return malloc(bytes); }
void *make_zeroed(size_t bytes) { return calloc(bytes / 8, 8); }
void *make_aligned(size_t alignment, size_t bytes)
{
    void *block = NULL;
    return posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
}
void *grow(void *block, size_t bytes) { return realloc(block, bytes); }
void take(void *block) { free(block); }

/* The C library itself frees and reads into the block. */
int take_by_c_library(void *block, size_t bytes)
{
    FILE *file = fmemopen("line\n", 5, "r");
    char *line = block;
    if (!file || getline(&line, &bytes, file) != 5 || strcmp(line, "line\n") != 0)
        return 0;
    fclose(file);
    free(line);
    return 1;
}
