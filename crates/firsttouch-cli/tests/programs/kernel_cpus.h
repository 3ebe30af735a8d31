/* The CPUs that the kernel lets the calling thread run on: past every function of C by which a program asks for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes each with a blank before it; answers how many bytes. */
static int kernel_cpus(char *to) {
    static const char field[] = "Cpus_allowed_list:";
    char line[4096];
    int length = 0;
    FILE *status = fopen("/proc/thread-self/status", "r");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, field, sizeof field - 1)) continue;
        for (char *at = line + sizeof field - 1; *at && *at != '\n'; at += *at == ',') {
            long first = strtol(at, &at, 10), last = *at == '-' ? strtol(at + 1, &at, 10) : first;
            for (long cpu = first; cpu <= last; cpu++) length += sprintf(to + length, " %ld", cpu);
        }
    }
    if (status) fclose(status);
    return length;
}
