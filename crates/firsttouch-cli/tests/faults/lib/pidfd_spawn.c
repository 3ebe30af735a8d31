/* What glibc has since 2.39: starts a program as posix_spawn does, by the C library's own, and answers with a descriptor of the process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *, char *const *);

static int by(const char *name, int *descriptor, const char *program, const posix_spawn_file_actions_t *actions,
              const posix_spawnattr_t *attributes, char *const *words, char *const *environment)
{
    pid_t child;
    spawn *real = (spawn *)dlsym(RTLD_NEXT, name);
    int answer = real(&child, program, actions, attributes, words, environment);
    if (answer == 0)
        *descriptor = (int)syscall(SYS_pidfd_open, child, 0);
    return answer;
}

int pidfd_spawn(int *descriptor, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const *words, char *const *environment)
{
    return by("posix_spawn", descriptor, path, actions, attributes, words, environment);
}

int pidfd_spawnp(int *descriptor, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const *words, char *const *environment)
{
    return by("posix_spawnp", descriptor, file, actions, attributes, words, environment);
}
