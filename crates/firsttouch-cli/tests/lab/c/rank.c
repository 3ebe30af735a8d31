/* rank MIB [die RANK FILES]: touches memory as one of several ranks and says, on one line, which CPUs it has and where its pages lie:
 * `rank 3 cpus 6-7 pages 1:4096`. The rank that is named kills itself
 * after that, when all the files are there. */
#include "numa.h"
#include <signal.h>

static const char *number(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (int which = 0; which < 3; which++)
        if (getenv(names[which]))
            return getenv(names[which]);
    return "?";
}

/* The kernel's list of the CPUs that we may use. */
static void own_cpus(char list[1024]) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[1024];
    if (!status)
        give_up("status");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "Cpus_allowed_list:", 18))
            strcpy(list, line + 19);
    fclose(status);
    list[strcspn(list, "\n")] = 0;
}

int main(int count, char **words) {
    if (count < 2)
        return 2;
    size_t bytes = strtoul(words[1], NULL, 10) << 20;
    char *start = map(bytes, 0);
    touch(start, bytes);
    unsigned long counts[NODES];
    pages_by_node(start, counts);
    char cpus[1024] = "?", line[2048];
    own_cpus(cpus);
    int length = snprintf(line, sizeof line, "rank %s cpus %s pages", number(), cpus);
    for (int node = 0; node < NODES; node++)
        if (counts[node])
            length += snprintf(line + length, sizeof line - length, " %d:%lu", node, counts[node]);
    line[length++] = '\n';
    /* At once, so that lines of ranks do not mix. */
    if (write(1, line, length) != length)
        give_up("write");
    if (count > 3 && !strcmp(words[2], "die") && !strcmp(words[3], number())) {
        for (int file = 4; file < count; file++)
            while (access(words[file], F_OK))
                sched_yield();
        raise(SIGKILL);
    }
    return 0;
}
