/* A limit that the program is not told of. */
#ifndef LIMIT_H
#define LIMIT_H
#include "check.h"
#include <sys/resource.h>

/* Another process limits this one's address space. */
static inline void limit_by_other(size_t bytes)
{
    pid_t other = fork();
    CHECK(other >= 0);
    if (other == 0) {
        struct rlimit limit = {bytes, RLIM_INFINITY};
        _exit(prlimit(getppid(), RLIMIT_AS, &limit, NULL) != 0);
    }
    CHECK(end_of(other) == 0);
}
#endif
