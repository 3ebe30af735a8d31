/* The least that a library in front of malloc can be: every call goes on at once, nothing is looked at. What `hop` costs under
 * it is what any such library costs.
 */
#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *address, size_t bytes);
void __libc_free(void *address);

void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return __libc_calloc(count, bytes); }
void *realloc(void *address, size_t bytes) { return __libc_realloc(address, bytes); }
void free(void *address) { __libc_free(address); }
