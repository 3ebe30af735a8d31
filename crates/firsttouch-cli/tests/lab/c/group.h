/* A control group of a guest that nobody else is in. */
#pragma once
#include "numa.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define GROUPS "/sys/fs/cgroup"

static void set(const char *file, const char *text) {
    int out = open(file, O_WRONLY);
    /* EAGAIN: less was reclaimed than was asked for. */
    if (out < 0 || (write(out, text, strlen(text)) < 0 && errno != EAGAIN) || close(out))
        give_up(file);
}

/* Makes the group, a folder of version 2, and steps into it. */
static void enter_group(const char *folder) {
    char self[32], members[128];
    mount("none", GROUPS, "cgroup2", 0, NULL);
    set(GROUPS "/cgroup.subtree_control", "+memory");
    if (mkdir(folder, 0755))
        give_up("mkdir");
    snprintf(self, sizeof self, "%d", getpid());
    snprintf(members, sizeof members, "%s/cgroup.procs", folder);
    set(members, self);
}
