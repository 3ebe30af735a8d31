/* Children that the handlers of fork(3) are not told of. */
#ifndef COPY_H
#define COPY_H
#include "check.h"
#include <dlfcn.h>
#include <sys/syscall.h>

/* By `_Fork` (glibc 2.34) if `other`, where there is one, else by clone(2). A child that hangs ends by a signal. */
static inline pid_t copy(int other)
{
    pid_t (*fork_only)(void) = (pid_t (*)(void))dlsym(RTLD_DEFAULT, "_Fork");
    pid_t child = other && fork_only != NULL ? fork_only() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    CHECK(child >= 0);
    if (child == 0)
        alarm(LIMIT_S);
    return child;
}

#endif
