/* Opened with RTLD_DEEPBIND it finds the C library's functions before ours. */
#include <stdlib.h>
void take(void *block) { free(block); }
void *give(size_t bytes) { return malloc(bytes); }
void *resize(void *block, size_t bytes) { return realloc(block, bytes); }
