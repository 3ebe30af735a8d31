/* What programs share whose receipt is held against what they print of themselves. */
#ifndef LOOKS_H
#define LOOKS_H
#include "check.h"

/* So many MiB that were touched. */
static unsigned char *filled(int mib) {
    unsigned char *block = malloc((size_t)mib * MIB);
    if (!block) exit(2);
    memset(block, 1, (size_t)mib * MIB);
    return block;
}

/* A line of this process: its number, and what it has by smaps, in KiB: private, shared, and on huge pages. */
static void tell(FILE *out) {
    char line[4096];
    long value, own = 0, shared = 0, huge = 0, rss = 0;
    int is_shared = 0;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    if (!smaps) exit(3);
    while (fgets(line, sizeof line, smaps)) {
        if (strstr(line, " rw-s ")) is_shared = strstr(line, "/dev/zero") != NULL;
        else if (strstr(line, "-p ")  && !strstr(line, " kB")) is_shared = 0;
        if (sscanf(line, "Rss: %ld", &value) == 1) rss = value;
        if (sscanf(line, "Anonymous: %ld", &value) == 1) {
            own += value;
            if (is_shared) shared += rss - value;
        }
        if (sscanf(line, "AnonHugePages: %ld", &value) == 1) huge += value;
        if (sscanf(line, "ShmemPmdMapped: %ld", &value) == 1) huge += value;
    }
    fclose(smaps);
    fprintf(out, "%d %ld %ld %ld\n", (int)getpid(), own, shared, huge);
    fflush(out);
}

/* How often a process has gone to sleep by itself; -1 where it is not the command. */
static long sleeps_of(pid_t launcher) {
    char path[64], line[256];
    long sleeps = -1;
    int is_it = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)launcher);
    FILE *status = fopen(path, "r");
    if (!status) return -1;
    while (fgets(line, sizeof line, status)) {
        is_it |= !strcmp(line, "Name:\tfirsttouch\n");
        sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
    }
    fclose(status);
    return is_it ? sleeps : -1;
}

/* Between two of its sleeps the command looks once; one look may have begun before, and a look itself may have to wait. */
static void wait_for_looks(pid_t launcher) {
    long before = sleeps_of(launcher);
    while (before >= 0 && sleeps_of(launcher) < before + 7) usleep(1000);
}

#endif
