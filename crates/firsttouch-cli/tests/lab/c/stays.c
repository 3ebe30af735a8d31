/* stays OPTION…: has itself attached to with these options, and says of each of its memories how many pages are on which node then.
 * All are on node 0 before, and most of them cannot be moved, or are left alone:
 *
 *   plain     nothing stands in the way          locked    mlock(2), which does not
 *   shared    a child of fork(2) has it, too     piped     a pipe holds its pages (vmsplice(2))
 *   fixed     buffers of an io_uring             none      the program itself may not touch it
 *   watched   under a userfaultfd                stack     a thread's
 *   pool      reserved huge pages                mapped    memory that processes share, which is left as files are */
#include "numa.h"
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define LEAST (256UL << 10)

static const char *const names[] = {"plain", "locked", "shared", "piped", "fixed", "none", "watched", "stack", "pool", "mapped"};
#define KINDS (sizeof names / sizeof *names)
static struct { char *start; size_t bytes; } kinds[KINDS];

static void show(const char *when) {
    for (size_t kind = 0; kind < KINDS; kind++) {
        char what[64];
        unsigned long count[NODES] = {0};
        for (size_t at = 0; at < kinds[kind].bytes; at += PAGE) {
            void *page = kinds[kind].start + at;
            int node = -1;
            if (syscall(SYS_move_pages, 0, 1, &page, NULL, &node, 0))
                give_up("move_pages");
            if (node >= 0 && node < NODES)
                count[node]++;
        }
        snprintf(what, sizeof what, "%s-%s", when, names[kind]);
        print_counts(what, count);
    }
    fflush(stdout);
}

/* A mapping of its own, which none above or below is joined with, nor takes for its guard. */
static char *apart(size_t bytes, int flags) {
    char *start = mmap(NULL, bytes + 8 * BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        give_up("mmap");
    start = (char *)(((unsigned long)start + 5 * BLOCK) & -BLOCK);
    if (mmap(start, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        give_up("mmap there");
    return start;
}

static char *make(const char *name, size_t bytes, int flags) {
    for (size_t kind = 0; kind < KINDS; kind++)
        if (!strcmp(names[kind], name)) {
            kinds[kind].start = apart(bytes, flags);
            kinds[kind].bytes = bytes;
            touch(kinds[kind].start, bytes);
            return kinds[kind].start;
        }
    errno = EINVAL;
    give_up(name);
    return NULL;
}

static void pipe_holds(char *start, size_t bytes) {
    int ends[2];
    struct iovec part = {start, bytes};
    if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, bytes) < 0 || vmsplice(ends[1], &part, 1, 0) != (ssize_t)bytes)
        give_up("vmsplice");
}

static void ring_holds(char *start, size_t bytes) {
    /* struct io_uring_params of include/uapi/linux/io_uring.h */
    unsigned params[30] = {0};
    struct iovec part = {start, bytes};
    long ring = syscall(SYS_io_uring_setup, 4, params);
    if (ring < 0 || syscall(SYS_io_uring_register, ring, 0 /* IORING_REGISTER_BUFFERS */, &part, 1))
        give_up("io_uring");
}

static void watch(char *start, size_t bytes) {
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(unsigned long)start, bytes}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    long watcher = syscall(SYS_userfaultfd, O_CLOEXEC);
    if (watcher < 0 || ioctl(watcher, UFFDIO_API, &api) || ioctl(watcher, UFFDIO_REGISTER, &range))
        give_up("userfaultfd");
}

static void reserve(const char *pages) {
    FILE *pool = fopen("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "w");
    if (!pool || fputs(pages, pool) < 0 || fclose(pool))
        give_up("nr_hugepages");
}

static pthread_barrier_t there;

static void *on_its_stack(void *unused) {
    char local[LEAST];
    touch(local, sizeof local);
    /* Whole pages. */
    kinds[7].start = (char *)(((unsigned long)local + PAGE - 1) & -PAGE);
    kinds[7].bytes = LEAST - PAGE;
    pthread_barrier_wait(&there);
    for (;;)
        pause();
    return unused;
}

static int firsttouch(char **options) {
    char pid[16], *ours[16] = {"firsttouch", "attach", "--json", pid};
    int length = 4, status;
    snprintf(pid, sizeof pid, "%d", getpid());
    while (*options && length < 15)
        ours[length++] = *options++;
    pid_t child = vfork();
    if (child == 0) {
        execvp(ours[0], ours);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        give_up("firsttouch");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int count, char **words) {
    pthread_t thread;
    (void)count;
    pin(0);
    set_policy("bind", "0");
    reserve("2");
    make("shared", 4 * LEAST, MAP_PRIVATE);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    make("plain", BLOCK, MAP_PRIVATE);
    char *locked = make("locked", 2 * LEAST, MAP_PRIVATE);
    if (child < 0 || mlock(locked, 2 * LEAST))
        give_up("mlock");
    pipe_holds(make("piped", LEAST, MAP_PRIVATE), LEAST);
    ring_holds(make("fixed", LEAST, MAP_PRIVATE), LEAST);
    watch(make("watched", LEAST, MAP_PRIVATE), LEAST);
    make("pool", BLOCK, MAP_PRIVATE | MAP_HUGETLB);
    make("mapped", 4 * BLOCK, MAP_SHARED);
    if (mprotect(make("none", 3 * LEAST, MAP_PRIVATE), 3 * LEAST, PROT_NONE))
        give_up("mprotect");
    if (pthread_barrier_init(&there, NULL, 2) || pthread_create(&thread, NULL, on_its_stack, NULL))
        give_up("pthread_create");
    pthread_barrier_wait(&there);
    show("before");
    printf("attached %d\n", firsttouch(words + 1));
    show("after");
    reserve("0");
    kill(child, SIGKILL);
    return 0;
}
