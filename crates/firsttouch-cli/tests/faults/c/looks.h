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

/* A line of this process: its number, and what it has by smaps, in KiB: private, shared, and on huge pages. By whatever thread asks: the
 * first may have ended. */
static void tell(FILE *out) {
    char line[4096];
    long value, own = 0, shared = 0, huge = 0, rss = 0;
    int is_shared = 0;
    FILE *smaps = fopen("/proc/thread-self/smaps", "r");
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

/* A process that has so many MiB, tells so by one pipe, and waits for the end of the other. */
static void tell_and_wait(int mib, int out, int wait) {
    char byte;
    unsigned char *own = filled(mib);
    FILE *lines = fdopen(out, "w");
    tell(lines);
    fclose(lines);
    while (read(wait, &byte, 1) > 0) {}
    exit(own[MIB] != 1);
}

/* Becomes the program anew, with a word that says what it is now and the numbers of two pipes. */
static void become(char *name, const char *word, int out, int wait) {
    char numbers[2][16];
    snprintf(numbers[0], sizeof numbers[0], "%d", out);
    snprintf(numbers[1], sizeof numbers[1], "%d", wait);
    execl("/proc/self/exe", name, word, numbers[0], numbers[1], (char *)NULL);
    _exit(6);
}

/* A number of a process, by a file of /proc and the words before the number; -1 where it is not the command, or not to be read. */
static long number_of(pid_t launcher, const char *name, const char *words) {
    char path[64], line[256];
    long number = -1;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)launcher);
    FILE *file = fopen(path, "r");
    int is_it = file && fgets(line, sizeof line, file) && !strcmp(line, "firsttouch\n");
    if (file) fclose(file);
    snprintf(path, sizeof path, "/proc/%d/%s", (int)launcher, name);
    if (!is_it || !(file = fopen(path, "r"))) return -1;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, words, strlen(words))) number = strtol(line + strlen(words), NULL, 10);
    fclose(file);
    return number;
}

/* Bytes to be read in a file of /proc. */
static long length_of(const char *path) {
    char buffer[4096];
    long length = 0, got;
    int file = open(path, O_RDONLY);
    if (file < 0) exit(3);
    while ((got = read(file, buffer, sizeof buffer)) > 0) length += got;
    close(file);
    return length;
}

/* Until the command has read the mappings of processes, from the beginning to the end of a look. Most looks read only what the kernel counts
 * anyway, which is a few lines; one that has read mappings has read at least as much as our own are, before it sleeps again. The first such
 * look may have begun before, the second has not. */
static void wait_for_looks(pid_t launcher) {
    const long mappings = length_of("/proc/thread-self/smaps");
    for (int looks = 0; looks < 2;) {
        long sleeps = number_of(launcher, "status", "voluntary_ctxt_switches:"), slept = sleeps;
        long bytes = number_of(launcher, "io", "rchar: ");
        while (sleeps >= 0 && slept == sleeps) {
            usleep(1000);
            slept = number_of(launcher, "status", "voluntary_ctxt_switches:");
        }
        if (sleeps < 0 || slept < 0 || bytes < 0) return;
        /* Where it has slept several times, no more than as many looks. */
        if (number_of(launcher, "io", "rchar: ") - bytes >= mappings * (slept - sleeps)) looks++;
    }
}

#endif
