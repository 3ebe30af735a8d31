/* attach journey HEARTBEAT OPTION…: attaches to a program at work on node 0, with these options, and undoes it; says
 *     where its pages were and its threads could run, before, then and afterwards, and whether a byte was lost.
 * attach target-dies COUNT HEARTBEAT OPTION…: kills the program while it is attached to, so many times, at moments all over it.
 * attach attach-dies COUNT HEARTBEAT OPTION…: kills the attaching instead, or asks it to end (SIGINT, SIGTERM); goes on every other time, and undoes.
 *
 * HEARTBEAT is the program `heartbeat`. */
#include "numa.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define MIB "8"
#define NAP_US "1000"
#define OURS 64
/* Pages of mappings that are the program's table, not a stack or a heap. */
#define MANY 1024

static char said[1 << 20];

/* The program, and the pipes to it and from it. */
static pid_t target;
static int input, output;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void wait_s(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

/* Reads the next line of the program into `said`. */
static void hear(void) {
    size_t at = 0;
    while (at + 1 < sizeof said && read(output, said + at, 1) == 1 && said[at] != '\n')
        at++;
    said[at] = 0;
}

static void start(const char *heartbeat) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        give_up("pipe");
    target = fork();
    if (target == 0) {
        set_policy("bind", "0");
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl(heartbeat, heartbeat, MIB, "1", NAP_US, (char *)NULL);
        give_up(heartbeat);
    }
    close(in[0]), close(out[1]);
    input = in[1], output = out[0];
    hear();
    if (strncmp(said, "ready ", 6))
        give_up("heartbeat");
}

/* Its exit status when it has looked at all of its memory. */
static int finish(void) {
    int status;
    close(input);
    while (hear(), *said)
        ;
    close(output);
    if (waitpid(target, &status, 0) != target)
        give_up("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Starts `firsttouch attach`; what it says goes to `stream`. */
static pid_t begin(const char *first, char **options, int *stream) {
    int out[2];
    char pid[16], *words[OURS] = {"firsttouch", "attach", "--json", pid};
    int count = 4;
    snprintf(pid, sizeof pid, "%d", target);
    if (first)
        words[count++] = (char *)first;
    while (*options && count + 1 < OURS)
        words[count++] = *options++;
    if (pipe2(out, O_CLOEXEC))
        give_up("pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        execvp(words[0], words);
        give_up("firsttouch");
    }
    close(out[1]);
    *stream = out[0];
    return child;
}

/* Waits for it; its exit status, its document in `said`. */
static int end(pid_t child, int stream) {
    int status;
    size_t at = 0;
    ssize_t bytes;
    while ((bytes = read(stream, said + at, sizeof said - 1 - at)) > 0)
        at += (size_t)bytes;
    said[at] = 0;
    close(stream);
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int attach(const char *first, char **options) {
    int stream;
    pid_t child = begin(first, options, &stream);
    return end(child, stream);
}

/* The word of a key of the document in `said`. */
static const char *word_of(const char *key) {
    static char word[32];
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = strstr(said, quoted);
    word[0] = 0;
    if (at) {
        at += strlen(quoted);
        at += strspn(at, ": \n\"");
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "\",}\n"), at);
    }
    return word;
}

/* Pages of the program's table by node. */
static void table_by_node(unsigned long count[NODES]) {
    char path[64], line[4096];
    memset(count, 0, NODES * sizeof *count);
    snprintf(path, sizeof path, "/proc/%d/numa_maps", target);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long here[NODES] = {0}, all = 0, pages;
        unsigned node;
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"))
            if (sscanf(word, "N%u=%lu", &node, &pages) == 2 && node < NODES)
                here[node] += pages, all += pages;
        for (node = 0; node < NODES && all >= MANY; node++)
            count[node] += here[node];
    }
    if (maps)
        fclose(maps);
}

/* The CPUs that all threads may run on, as text; `mixed` where they differ. */
static const char *cpus(void) {
    static char found[256];
    char path[300], line[256];
    snprintf(path, sizeof path, "/proc/%d/task", target);
    DIR *tasks = opendir(path);
    struct dirent *entry;
    found[0] = 0;
    while (tasks && (entry = readdir(tasks))) {
        if (!isdigit(entry->d_name[0]))
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", target, entry->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status)) {
            char list[200];
            if (sscanf(line, "Cpus_allowed_list: %199s", list) != 1)
                continue;
            if (*found && strcmp(found, list))
                strcpy(found, "mixed");
            else
                strcpy(found, list);
        }
        if (status)
            fclose(status);
    }
    if (tasks)
        closedir(tasks);
    return found;
}

static void show(const char *when) {
    unsigned long count[NODES];
    char label[32];
    table_by_node(count);
    snprintf(label, sizeof label, "%s-pages", when);
    print_counts(label, count);
    printf("%s-cpus %s\n", when, cpus());
    fflush(stdout);
}

static int journey(char **words) {
    char *none[] = {NULL};
    start(words[0]);
    show("before");
    int status = attach(NULL, words + 1);
    printf("attached %d %s\n", status, word_of("ended"));
    show("then");
    status = attach("--undo", none);
    printf("undone %d\n", status);
    show("afterwards");
    printf("whole %d\n", finish());
    return 0;
}

/* A seldom page may be held by somebody else at the moment. */
static int all_on(int node) {
    unsigned long count[NODES], all = 0;
    table_by_node(count);
    for (int other = 0; other < NODES; other++)
        all += count[other];
    return all > 0 && count[node] * 100 >= all * 99;
}

/* Bytes of the journal of the program, -1 if there is none. */
static long long journal_bytes(void) {
    char folder[300], start[16];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    long long bytes = -1;
    snprintf(folder, sizeof folder, "%s%s/firsttouch/attach", state ? state : home ? home : "", state ? "" : "/.local/state");
    snprintf(start, sizeof start, "%d-", target);
    DIR *journals = opendir(folder);
    struct dirent *entry;
    struct stat about;
    while (journals && (entry = readdir(journals)))
        if (!strncmp(entry->d_name, start, strlen(start)) && fstatat(dirfd(journals), entry->d_name, &about, 0) == 0)
            bytes = about.st_size;
    if (journals)
        closedir(journals);
    return bytes;
}

/* Starts an attach, and waits until it has written something down, so that it has begun, or has ended without. */
static pid_t begin_and_wait(char **options, int *stream) {
    long long before = journal_bytes();
    siginfo_t ended = {0};
    pid_t child = begin(NULL, options, stream);
    while (journal_bytes() <= (before < 0 ? 0 : before) && ended.si_pid != child) {
        wait_s(0.001);
        waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    return child;
}

static int target_dies(int times, char **words) {
    int done = 0, ended = 0, refused = 0, other = 0, stream, status;
    double took = 1;
    /* Number 0 lives, and shows how long an attach takes from its first step on. */
    for (int time = 0; time <= times; time++) {
        start(words[0]);
        pid_t child = begin_and_wait(words + 1, &stream);
        double begun = now();
        if (time > 0) {
            wait_s(took * (time - 1) / times);
            kill(target, SIGKILL);
        }
        status = end(child, stream);
        const char *word = word_of("ended");
        if (time == 0)
            took = now() - begun;
        else if (status == 0 && !strcmp(word, "done"))
            /* That was late: the next ones come earlier. */
            done++, took = now() - begun;
        else if (!strcmp(word, "target-ended"))
            ended++;
        else if (!*said && status > 0 && status < 128 && status != 101)
            refused++;
        else
            other++, printf("unexpected: status %d, %s\n", status, said);
        finish();
    }
    printf("done %d\nended %d\nrefused %d\nother %d\nseconds %.3f\n", done, ended, refused, other, took);
    return 0;
}

static int attach_dies(int times, char **words) {
    int stopped = 0, complete = 0, nothing = 0, other = 0, status, stream;
    const int signals[] = {SIGKILL, SIGINT, SIGTERM};
    char *none[] = {NULL}, before[256];
    start(words[0]);
    strcpy(before, cpus());
    double took = 1;
    for (int time = 1; time <= times; time++) {
        pid_t child = begin_and_wait(words + 1, &stream);
        double begun = now();
        wait_s(took * time / times);
        kill(child, signals[time % 3]);
        status = end(child, stream);
        if (status == 137 || status == 130)
            stopped++;
        else
            complete++, took = now() - begun;
        if (time % 2 == 0) {
            status = attach(NULL, words + 1);
            if (status || !all_on(1))
                other++, printf("going on, time %d: status %d, %s\n", time, status, said), show("then");
        }
        status = attach("--undo", none);
        /* Killed before it wrote anything down, it has done nothing. */
        if (status && time % 2)
            nothing++;
        else if (status)
            other++, printf("undo, time %d: status %d, %s\n", time, status, said);
        if (!all_on(0) || strcmp(cpus(), before))
            other++, printf("after the undo, time %d: \n", time), show("afterwards");
        if (!status && journal_bytes() >= 0)
            other++, printf("after the undo, time %d: its journal is still there\n", time);
    }
    printf("stopped %d\ncomplete %d\nnothing %d\nother %d\nseconds %.3f\nwhole %d\n", stopped, complete, nothing, other, took,
           finish());
    return 0;
}

int main(int count, char **words) {
    if (count > 2 && !strcmp(words[1], "journey"))
        return journey(words + 2);
    if (count > 3 && !strcmp(words[1], "target-dies"))
        return target_dies(atoi(words[2]), words + 3);
    if (count > 3 && !strcmp(words[1], "attach-dies"))
        return attach_dies(atoi(words[2]), words + 3);
    return 2;
}
