// The control channel inside a program: what it does when asked, whom it refuses, and that the program cannot tell.
// Arguments: what is done, and of forks how many, if not 300, or what a program that it starts has before it is listened in.
//# once: what is said to the agent
//# bare: none
//# exec: -- none
//# exec: --follow --attachable -- talk
//# exec: --attachable --pages plain -- talk
//# exec: --attachable --threads 0 -- talk
//# run: --attachable -- talk
//# expect: complete=true
//# expect: shortfall=nothing
//# exec: --attachable -- talk
//# inside: exec "$@"
//# exec: --attachable -- none
//# inside: "$@"; exit 0
//# exec: --attachable -- garbage
//# exec: --attachable -- executed
//# exec: --follow --attachable -- started block
//# exec: --follow --attachable --pages plain -- started block
//# exec: --follow --attachable --pages plain -- started resized
//# exec: --follow --attachable -- started thread
//# exec: --attachable -- closed
//# exec: --attachable -- signals
//# exec: --attachable -- forks
//# emulated: forks 60
//# exec: --attachable -- idle
//# exec: --attachable -- hidden
//# exec: --attachable -- ended
//# expect: stdout=the end was seen
//# exec: --attachable -- crowd
#include "channel.h"
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { COLLAPSE = 25 }; /* MADV_COLLAPSE, which older headers lack */

static int entries(const char *folder)
{
    DIR *open = opendir(folder);
    CHECK(open != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(open);
    return count;
}

/* Connects to the channel of a process, once; -1 if nobody listens. */
static int try_channel(pid_t process)
{
    struct sockaddr_un address;
    socklen_t bytes = channel_address(process, &address);
    int channel = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(channel >= 0);
    if (connect(channel, (void *)&address, bytes) == 0)
        return channel;
    CHECK(errno == ECONNREFUSED);
    close(channel);
    return -1;
}

/* The same, giving the listener time to begin. */
static int channel_of(pid_t process)
{
    for (;;) {
        int channel = try_channel(process);
        if (channel >= 0)
            return channel;
        sched_yield();
    }
}

/* The answer to what was sent: a line; nothing where the other end has closed. */
static const char *answer(int channel)
{
    static __thread char line[20000];
    size_t length = 0;
    while (length == 0 || line[length - 1] != '\n') {
        ssize_t got = read(channel, line + length, 1);
        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return "";
        CHECK(got == 1);
        length++;
    }
    line[length - 1] = 0;
    return line;
}

static const char *ask(int channel, const char *format, ...)
{
    char line[200];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    CHECK(write(channel, line, length) == length);
    return answer(channel);
}

#define SAYS(expected, ...)                                                                                         \
    do {                                                                                                            \
        const char *said = ask(channel, __VA_ARGS__);                                                               \
        if (strcmp(said, expected) != 0) {                                                                          \
            dprintf(2, "%s:%d: `%s` and not `%s`\n", __FILE__, __LINE__, said, expected);                           \
            _exit(1);                                                                                               \
        }                                                                                                           \
    } while (0)

/* Small pages, at the beginning of a huge one. */
static char *small_pages(size_t bytes)
{
    char *all = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    char *block = (char *)(((uintptr_t)all + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
    CHECK(madvise(block, bytes, MADV_NOHUGEPAGE) == 0);
    fill(block, bytes, 3);
    CHECK(madvise(block, bytes, MADV_HUGEPAGE) == 0);
    return block;
}

/* Until there are no more threads than that: the kernel takes a thread down a moment after it was joined. */
static void wait_for_ends(int threads)
{
    double limit_s = now_s() + LIMIT_S;
    while (entries("/proc/self/task") > threads)
        CHECK(now_s() < limit_s && sched_yield() == 0);
}

/* Asks again while the kernel has pages in its hands for the moment: that is EAGAIN, or EINVAL while they are on the move. */
static const char *collapse(int channel, char *block, size_t bytes)
{
    const char *said = "";
    for (int tries = 0; tries < 1000; tries++) {
        said = ask(channel, "collapse %lx %zx\n", (long)block, bytes);
        if (strcmp(said, "error 11") != 0 && strcmp(said, "error 22") != 0)
            break;
    }
    return said;
}

static void talk(void)
{
    wait_for_ends(2);
    int channel = channel_of(getpid());
    const char *version = ask(channel, "version\n");
    int words, listener;
    CHECK(sscanf(version, "ok %d %d", &words, &listener) == 2 && words == 1);
    CHECK(listener != getpid() && entries("/proc/self/task") == 2);
    char path[100], name[20] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", listener);
    int file = open(path, O_RDONLY);
    CHECK(read(file, name, sizeof name - 1) == 11 && strcmp(name, "firsttouch\n") == 0);
    close(file);

    size_t bytes = 8 * MIB, huge = huge_bytes();
    char *block = small_pages(bytes);
    /* The kernel's own thread may come first. */
    for (int tries = 0; huge_bytes() >= huge + bytes; tries++) {
        CHECK(tries < 100);
        munmap(block, bytes);
        block = small_pages(bytes);
    }
    /* Of no bytes: whether the kernel knows it (Linux 6.1). */
    if (madvise(block, 0, COLLAPSE) == 0) {
        CHECK(strcmp(collapse(channel, block, bytes), "ok") == 0);
        CHECK(huge_bytes() >= huge + bytes);
    } else {
        SAYS("error 22", "collapse %lx %zx\n", (long)block, bytes);
    }
    CHECK(holds(block, bytes, 3));
    SAYS("error 22", "collapse %lx %zx\n", (long)block + 1, bytes);
    SAYS("error 22", "collapse %lx 1000000\n", -HUGE_PAGE);
    munmap(block, bytes);
    CHECK(strncmp(ask(channel, "collapse %lx %zx\n", (long)block, bytes), "error ", 6) == 0);

    char *pages = small_pages(HUGE_PAGE);
    int node;
    CHECK(sscanf(ask(channel, "nodes %lx\n", (long)pages), "ok %d", &node) == 1 && node >= 0);
    char all[20];
    snprintf(all, sizeof all, "ok %d*512", node);
    SAYS(all, "move %d %lx+1ff\n", node, (long)pages);
    SAYS(all, "nodes %lx+ff %lx+ff\n", (long)pages, (long)pages + 256 * 4096);
    SAYS("ok -14*2", "nodes 1000 %lx\n", -HUGE_PAGE);
    SAYS("error 22", "move %d %lx+200\n", node, (long)pages);
    SAYS("error 19", "move 1000000 %lx\n", (long)pages);
    CHECK(holds(pages, HUGE_PAGE, 3));

    /* A thread with more rights than the listener is left alone, as by everybody with fewer. */
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &cpus))
        cpu++;
    int privileged = geteuid() == 0;
    SAYS(privileged ? "error 1" : "ok", "affinity %d %d\n", getpid(), cpu);
    SAYS("ok", "affinity %d %d\n", listener, cpu);
    SAYS("error 3", "affinity %d %d\n", getppid(), cpu);
    CHECK(sched_setaffinity(0, sizeof cpus, &cpus) == 0);
    close(channel);
    /* The next one is served as well. */
    channel = channel_of(getpid());
    CHECK(strncmp(ask(channel, "version\n"), "ok 1 ", 5) == 0);
    close(channel);
}

/* Whatever is sent, the program goes on and the next is served. */
static void garbage(void)
{
    int channel = channel_of(getpid());
    SAYS("error 22", "\n");
    SAYS("error 22", "collapse 0 0 0\n");
    SAYS("error 22", "move 0 \n");
    CHECK(strncmp(ask(channel, "version\nversion\n"), "ok 1 ", 5) == 0);
    CHECK(strncmp(answer(channel), "ok 1 ", 5) == 0);
    /* In pieces. */
    CHECK(write(channel, "ver", 3) == 3);
    sched_yield();
    CHECK(strncmp(ask(channel, "sion\n"), "ok 1 ", 5) == 0);
    close(channel);
    unsigned seed = 1;
    for (int round = 0; round < 200; round++) {
        channel = channel_of(getpid());
        char noise[3000];
        size_t length = 1 + (unsigned)rand_r(&seed) % sizeof noise;
        for (size_t at = 0; at < length; at++)
            noise[at] = (char)rand_r(&seed);
        CHECK(send(channel, noise, length, MSG_NOSIGNAL) > 0);
        if (round % 2 == 0)
            shutdown(channel, SHUT_WR);
        close(channel);
    }
    /* A line without an end. */
    channel = channel_of(getpid());
    char *endless = malloc(64 * KIB);
    memset(endless, 'x', 64 * KIB);
    send(channel, endless, 64 * KIB, MSG_NOSIGNAL);
    const char *said = answer(channel);
    CHECK(strcmp(said, "error 90") == 0 || strcmp(said, "") == 0);
    close(channel);
    talk();
}

/* Files: none of ours is there to be seen or closed, and none of the program's is held open. */
static void closed(void)
{
    int before = entries("/proc/self/fd"), ends[2];
    CHECK(pipe(ends) == 0);
    int channel = channel_of(getpid());
    CHECK(entries("/proc/self/fd") == before + 3);
    close(ends[1]);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 0);
    close(channel);
    CHECK(syscall(SYS_close_range, 3, ~0U, 0) == 0);
    for (int file = 3; file < 20; file++)
        CHECK(open("/dev/null", O_RDONLY) == file);
    talk();
    for (int file = 3; file < 20; file++)
        CHECK(fcntl(file, F_GETFD) == 0);
}

/* A signal to the process waits for a thread of the program's. */
static void signals(void)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    sigaddset(&wanted, SIGTERM);
    CHECK(sigprocmask(SIG_BLOCK, &wanted, NULL) == 0);
    talk();
    for (int round = 0; round < 100; round++) {
        int got;
        CHECK(kill(getpid(), round % 2 ? SIGTERM : SIGUSR1) == 0);
        CHECK(sigwait(&wanted, &got) == 0 && got == (round % 2 ? SIGTERM : SIGUSR1));
    }
}

static volatile int stop;

static void *talker(void *unused)
{
    (void)unused;
    int channel = channel_of(getpid());
    size_t bytes = 4 * MIB;
    char *block = small_pages(bytes);
    while (!stop) {
        SAYS("error 22", "nonsense\n");
        ask(channel, "collapse %lx %zx\n", (long)block, bytes);
        ask(channel, "move 0 %lx+1ff\n", (long)block);
        CHECK(holds(block, bytes, 3));
        madvise(block, bytes, MADV_NOHUGEPAGE);
        fill(block, bytes, 3);
        madvise(block, bytes, MADV_HUGEPAGE);
    }
    /* Nothing is left for the kernel's own thread to collapse: talk() counts the huge pages of the process. */
    munmap(block, bytes);
    close(channel);
    return NULL;
}

/* Forks while others talk: no child has a listener, or a descriptor too many, and all can allocate. */
static void forks(int rounds)
{
    pthread_t talkers[2];
    for (int index = 0; index < 2; index++)
        CHECK(pthread_create(&talkers[index], NULL, talker, NULL) == 0);
    for (int round = 0; round < rounds; round++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            char *block = malloc(4 * MIB);
            fill(block, 4 * MIB, 1);
            CHECK(entries("/proc/self/task") == 1 && try_channel(getpid()) < 0 && holds(block, 4 * MIB, 1));
            _exit(7);
        }
        CHECK(end_of(child) == 7);
    }
    stop = 1;
    for (int index = 0; index < 2; index++)
        CHECK(pthread_join(talkers[index], NULL) == 0);
    talk();
}

static void *nothing(void *unused)
{
    return unused;
}

/* No thread of this process listens, whatever it has of its own. */
static void stays_alone(void)
{
    char *block = malloc(4 * MIB);
    fill(block, 4 * MIB, 1);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    wait_for_ends(1);
    CHECK(try_channel(getpid()) < 0);
    _exit(7);
}

/* A program that the placed one has started: none listens before it has a large block or a thread, nor ever in its copies. */
static void started(const char *what)
{
    char *small = malloc(1000);
    CHECK(small != NULL && entries("/proc/self/task") == 1 && try_channel(getpid()) < 0);
    pid_t child = fork();
    if (child == 0)
        stays_alone();
    CHECK(end_of(child) == 7);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        stays_alone();
    CHECK(end_of(child) == 7);
    CHECK(entries("/proc/self/task") == 1 && try_channel(getpid()) < 0);
    if (strcmp(what, "block") == 0) {
        CHECK((small = malloc(MIB)) != NULL);
    } else if (strcmp(what, "resized") == 0) {
        CHECK((small = realloc(small, MIB)) != NULL);
    } else {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    talk();
}

/* Somebody who connects and says nothing, and goes. */
static void idle(void)
{
    int silent = channel_of(getpid());
    int second = channel_of(getpid());
    CHECK(write(second, "version\n", 8) == 8);
    struct pollfd waiting = {.fd = second, .events = POLLIN};
    CHECK(poll(&waiting, 1, 50) == 0);
    close(silent);
    CHECK(strncmp(answer(second), "ok 1 ", 5) == 0);
    close(second);
}

/* A program that lets nobody look into it. */
static void hidden(void)
{
    close(channel_of(getpid()));
    CHECK(prctl(PR_SET_DUMPABLE, 0) == 0);
    int channel = channel_of(getpid());
    CHECK(strcmp(answer(channel), "error 13") == 0 && strcmp(answer(channel), "") == 0);
    close(channel);
    CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
    talk();
}

static void *work(void *unused)
{
    (void)unused;
    struct timespec soon = {.tv_nsec = 20000000};
    nanosleep(&soon, NULL);
    return NULL;
}

/* Many at the door at once. */
static void crowd(void)
{
    pthread_t talkers[16];
    for (int index = 0; index < 16; index++)
        CHECK(pthread_create(&talkers[index], NULL, talker, NULL) == 0);
    stop = 1;
    for (int index = 0; index < 16; index++)
        CHECK(pthread_join(talkers[index], NULL) == 0);
    talk();
}

int main(int count, char **arguments)
{
    CHECK(count >= 2);
    const char *way = arguments[1];
#define IS(name) (strcmp(way, name) == 0)
    if (IS("none")) {
        CHECK(entries("/proc/self/task") == 1 && try_channel(getpid()) < 0);
    } else if (IS("talk")) {
        talk();
    } else if (IS("garbage")) {
        garbage();
    } else if (IS("executed")) {
        close(channel_of(getpid()));
        char *words[] = {arguments[0], "talk", NULL};
        execv("/proc/self/exe", words);
        CHECK(!"execv");
    } else if (IS("started")) {
        CHECK(count == 3);
        pid_t child = fork();
        if (child == 0) {
            char *words[] = {arguments[0], "later", arguments[2], NULL};
            execv("/proc/self/exe", words);
            CHECK(!"execv");
        }
        CHECK(end_of(child) == 0);
    } else if (IS("later")) {
        started(arguments[2]);
    } else if (IS("closed")) {
        closed();
    } else if (IS("signals")) {
        signals();
    } else if (IS("forks")) {
        forks(count > 2 ? atoi(arguments[2]) : 300);
    } else if (IS("idle")) {
        idle();
    } else if (IS("hidden")) {
        hidden();
    } else if (IS("crowd")) {
        crowd();
    } else if (IS("ended")) {
        /* The process ends with the last thread of the program's, by exit(3): what was printed is not lost. */
        puts("the end was seen");
        close(channel_of(getpid()));
        pthread_t worker;
        CHECK(pthread_create(&worker, NULL, work, NULL) == 0);
        pthread_exit(NULL);
    } else {
        CHECK(!"a known way");
    }
    return 0;
}
