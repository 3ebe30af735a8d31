/* Processes: children that check and go on, their children, and other programs. A bounded number at a time. */
#include "torture.h"
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;
enum { LEAF_STATUS = 40 };
static char own_path[64];

/* What a handler of fork allocates lives from before the fork to after it, on both sides. */
static __thread struct worker handling;
static __thread struct block across;

static void before(void)
{
    if (current == NULL)
        return;
    handling = (struct worker){.random = current->random ^ 0xf0};
    size_t bytes = below(&handling, 3 * MIB) + 1;
    describe(&handling, &across, malloc(bytes), bytes);
    CHECK(across.at != NULL);
    mark(&across);
}

static void after(void)
{
    if (across.at == NULL)
        return;
    check_block(&across);
    across.at = realloc(across.at, across.bytes + MIB);
    CHECK(across.at != NULL);
    check_prefix(&across, across.bytes, 1);
    free(across.at);
    across.at = NULL;
}

/* Signals that fork may interrupt the allocator, and then a handler of fork must not allocate. */
void begin_forks(int with_handlers)
{
    if (with_handlers)
        CHECK(pthread_atfork(before, after, after) == 0);
    snprintf(own_path, sizeof own_path, "/proc/%d/exe", getpid());
}

static int status_of(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) != child)
        CHECK(errno == EINTR);
    return status;
}

static void reap(pid_t child)
{
    int status = status_of(child);
    if (status != 0)
        dprintf(2, "torture: child %d ended with %s %d\n", child, WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    CHECK(status == 0);
}

void op_reap(struct worker *worker)
{
    if (worker->child_count > 0)
        reap(worker->children[--worker->child_count]);
}

void reap_all(struct worker *worker)
{
    while (worker->child_count > 0)
        op_reap(worker);
}

/* A child has a whole heap, its own view of the blocks that nobody changes, and goes on. */
static void live_as_child(struct worker *worker, uint64_t stream, uint64_t operations) __attribute__((noreturn));
static void live_as_child(struct worker *worker, uint64_t stream, uint64_t operations)
{
    worker->depth++;
    worker->child_count = 0;
    worker->stream = stream;
    enter_child(worker);
    check_all(worker);
    perform(worker, 0, operations);
    check_monuments();
    check_all(worker);
    if (operations % 2)
        drop_all(worker);
    reap_all(worker);
    _exit(0);
}

void op_fork(struct worker *worker)
{
    if (worker->depth >= DEEPEST)
        return;
    if (worker->child_count == CHILDREN)
        op_reap(worker);
    uint64_t stream = next(worker), operations = below(worker, 4) ? below(worker, 12) : 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        live_as_child(worker, stream, operations);
    worker->children[worker->child_count++] = child;
}

static void end_of_leaf(pid_t child)
{
    int status = status_of(child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == LEAF_STATUS);
}

/* The words that make this program a leaf: it performs a few operations by itself. */
struct leaf {
    char seed[24], masked[24];
    char *words[5];
};

static struct leaf *leaf_of(struct worker *worker, struct leaf *leaf)
{
    *leaf = (struct leaf){.words = {"torture", "--leaf", leaf->seed, leaf->masked, NULL}};
    snprintf(leaf->seed, sizeof leaf->seed, "%lu", next(worker) >> 1);
    snprintf(leaf->masked, sizeof leaf->masked, "%lu", masked);
    return leaf;
}

void op_exec(struct worker *worker)
{
    struct leaf leaf;
    leaf_of(worker, &leaf);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (below(worker, 2))
            execv(own_path, leaf.words);
        execve(own_path, leaf.words, environ);
        _exit(127);
    }
    end_of_leaf(child);
}

void op_vfork(struct worker *worker)
{
    struct leaf leaf;
    leaf_of(worker, &leaf);
    int is_limited = below(worker, 4) == 0;
    /* As shells limit what they start. */
    struct rlimit limit = {8 * GIB, 8 * GIB};
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        if (is_limited)
            setrlimit(RLIMIT_AS, &limit);
        execve(own_path, leaf.words, environ);
        _exit(127);
    }
    end_of_leaf(child);
}

void op_spawn(struct worker *worker)
{
    struct leaf leaf;
    leaf_of(worker, &leaf);
    pid_t child;
    CHECK(posix_spawn(&child, own_path, NULL, NULL, leaf.words, environ) == 0);
    end_of_leaf(child);
}

void op_shell(struct worker *worker)
{
    if (access("/bin/sh", X_OK) != 0)
        return;
    if (below(worker, 2)) {
        int status = system("exit 3");
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
        return;
    }
    char text[16] = "";
    FILE *stream = popen("echo said", "r");
    CHECK(stream != NULL && fgets(text, sizeof text, stream) != NULL && strcmp(text, "said\n") == 0);
    CHECK(pclose(stream) == 0);
}

/* A program that was started by another. */
int leaf(uint64_t seed)
{
    struct worker worker = {.stream = seed, .depth = DEEPEST};
    current = &worker;
    perform(&worker, 0, 6);
    drop_all(&worker);
    return LEAF_STATUS;
}
