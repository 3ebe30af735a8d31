/* undone WHAT OPTION…: has itself attached to with these options, does something, and has the attach undone; says how many pages
 * of its memory were on which node in the beginning, then, since, and afterwards. WHAT is
 *
 *   mixed   the first page of each block is on node 0, the others on node 1; nothing is done
 *   own     one half is on node 0, the other on node 1, and the program has that moved to node 0 itself
 *   remap   all is on node 0, and the program maps other memory there, which it binds to node 1
 *   narrow  all is on node 0, and the control group loses that; it has it again, and `again` the attach is undone
 *   caught  all is on node 0, and the control group loses node 1 while pages go there; it has it again
 *   forked  all is on node 0, and the program forks a child, which ends; `again` the attach is undone
 *   barred  all is on node 0, and the program may not touch the second half, then may; `again` the attach is undone */
#include "numa.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define BLOCKS 4
#define BYTES (BLOCKS * BLOCK)

static char *memory;
static int is_caught;

/* Pages by node, as move_pages answers. */
static void show(const char *when) {
    unsigned long count[NODES] = {0};
    for (size_t at = 0; at < BYTES; at += PAGE) {
        void *page = memory + at;
        int node = -1;
        if (syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0))
            give_up("move_pages");
        if (node >= 0 && node < NODES)
            count[node]++;
    }
    print_counts(when, count);
    fflush(stdout);
}

static void bind_range(char *start, size_t bytes, const char *nodes, unsigned flags) {
    unsigned long bits = nodes_of(nodes);
    if (syscall(SYS_mbind, start, bytes, mode_of("bind"), &bits, NODES + 1, flags))
        give_up("mbind");
}

/* Pages of a range on a node, which has no policy of its own. */
static void fill(char *start, size_t bytes, size_t step, const char *node) {
    set_policy("bind", node);
    for (size_t at = 0; at < bytes; at += step)
        start[at] = 1;
    set_policy("default", "-");
}

/* The nodes of the control group, whose name ends the one line of the file. */
static void allow(const char *nodes) {
    char name[128] = "", path[256];
    FILE *own = fopen("/proc/self/cgroup", "r");
    if (!own || fscanf(own, "0::%127s", name) != 1 || fclose(own))
        give_up("cgroup");
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpuset.mems", name);
    FILE *mems = fopen(path, "w");
    if (!mems || fputs(nodes, mems) < 0 || fclose(mems))
        give_up(path);
}

/* Takes node 1 away when the first page is there, while nothing more is moved. */
static void narrow_under(pid_t mover) {
    void *page = memory;
    int node = 0, status;
    while (node != 1)
        if (syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0) || waitpid(mover, &status, WNOHANG))
            give_up("it moved nothing");
    if (kill(mover, SIGSTOP) || waitpid(mover, &status, WUNTRACED) != mover || !WIFSTOPPED(status))
        give_up("it was not stopped");
    allow("0");
    kill(mover, SIGCONT);
}

static void firsttouch(const char *when, const char *first, char **options) {
    char pid[16], *ours[16] = {"firsttouch", "attach", "--json", pid};
    int length = 4, status;
    snprintf(pid, sizeof pid, "%d", getpid());
    if (first)
        ours[length++] = (char *)first;
    while (*options && length < 15)
        ours[length++] = *options++;
    pid_t child = vfork();
    if (child == 0) {
        execvp(ours[0], ours);
        _exit(127);
    }
    if (child > 0 && is_caught)
        narrow_under(child);
    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("firsttouch");
    printf("\n%s-status %d\n", when, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    show(when);
}

/* A child that shares the memory until it is told to end, by the end of its input. */
static pid_t fork_child(int *input) {
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC))
        give_up("pipe");
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0);
    }
    if (child < 0)
        give_up("fork");
    close(ends[0]);
    *input = ends[1];
    return child;
}

static void protect(int protection) {
    if (mprotect(memory + BYTES / 2, BYTES / 2, protection))
        give_up("mprotect");
}

int main(int count, char **words) {
    char *none[] = {NULL};
    if (count < 2)
        return 2;
    const char *what = words[1];
    pid_t child = 0;
    int input = -1;
    /* Nobody else is to collapse it. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    memory = map(BYTES, !strcmp(what, "mixed"));
    if (!strcmp(what, "mixed")) {
        fill(memory, BYTES, BLOCK, "0");
        fill(memory, BYTES, PAGE, "1");
    } else if (!strcmp(what, "own")) {
        fill(memory, BYTES / 2, PAGE, "0");
        fill(memory + BYTES / 2, BYTES / 2, PAGE, "1");
    } else {
        fill(memory, BYTES, PAGE, "0");
    }
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    show("before");
    is_caught = !strcmp(what, "caught");
    firsttouch("attached", NULL, words + 2);
    is_caught = 0;
    if (!strcmp(what, "own")) {
        bind_range(memory + BYTES / 2, BYTES / 2, "0", 2 /* MPOL_MF_MOVE */);
    } else if (!strcmp(what, "remap")) {
        if (munmap(memory, BYTES) || mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != memory)
            give_up("mmap");
        bind_range(memory, BYTES, "1", 0);
        touch(memory, BYTES);
    } else if (!strcmp(what, "narrow")) {
        allow("1");
    } else if (!strcmp(what, "forked")) {
        child = fork_child(&input);
    } else if (!strcmp(what, "barred")) {
        protect(PROT_NONE);
    } else if (!strcmp(what, "caught")) {
        allow("0-1");
    }
    show("since");
    firsttouch("undone", "--undo", none);
    int is_again = 1;
    if (!strcmp(what, "narrow")) {
        allow("0-1");
    } else if (!strcmp(what, "forked")) {
        int status;
        close(input);
        if (waitpid(child, &status, 0) != child || status)
            give_up("child");
    } else if (!strcmp(what, "barred")) {
        protect(PROT_READ | PROT_WRITE);
    } else {
        is_again = 0;
    }
    if (is_again)
        firsttouch("again", "--undo", none);
    return 0;
}
