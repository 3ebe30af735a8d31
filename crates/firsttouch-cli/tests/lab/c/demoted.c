/* demoted: fills 64 MiB of malloc(3), and has the kernel reclaim most of what its control group has, which demotes it to slower memory. */
#include "numa.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define GROUP "/sys/fs/cgroup/demoted"
#define BYTES (64UL << 20)
#define RECLAIMED "48M"

static void set(const char *file, const char *text) {
    int out = open(file, O_WRONLY);
    /* EAGAIN: less was reclaimed than was asked for. */
    if (out < 0 || (write(out, text, strlen(text)) < 0 && errno != EAGAIN) || close(out))
        give_up(file);
}

int main(void) {
    char self[32], *block;
    mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL);
    set("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
    if (mkdir(GROUP, 0755))
        give_up("mkdir");
    snprintf(self, sizeof self, "%d", getpid());
    set(GROUP "/cgroup.procs", self);
    set("/sys/kernel/mm/numa/demotion_enabled", "1");
    block = malloc(BYTES);
    if (!block)
        give_up("malloc");
    memset(block, 1, BYTES);
    set(GROUP "/memory.reclaim", RECLAIMED);
    for (size_t at = 0; at < BYTES; at += PAGE)
        if (block[at] != 1)
            give_up("lost");
    return 0;
}
