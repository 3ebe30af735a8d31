/* changes MIB: a process that does what disturbs somebody at work on its memory, at each line of its input:
 *
 *   exit      ends, with status 0, at once
 *   exec      becomes itself anew (`changes MIB exec`), with other memory at the same addresses
 *   relay     the same, but its second thread does it
 *   fork      forks 200 children that end at once, and goes on
 *   child     starts a child that stays for as long as it does
 *   unmap     unmaps every other block of 2 MiB, and goes on
 *   scatter   has 60,000 mappings more
 *   stop      stops itself until it is told to continue
 *   trace     is traced by a child, and stopped by it, until there is a file `release` in the folder
 *   hide      lets nobody look into it (PR_SET_DUMPABLE)
 *   stranger  is another user's, who may look into it
 *   leave     has another thread go on, and ends its first one
 *   deadline  has its first thread run by deadlines
 *   idle      does nothing
 *
 * It answers `done WORD`; at the end of its input it looks whether its memory is as it was, and ends with 0, or 3. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)2 << 20)
#define AT ((char *)0x200000000000)

static char *memory;
static size_t bytes;
static int holes;

static void give_up(const char *what)
{
    perror(what);
    _exit(2);
}

static uint64_t word_at(size_t at)
{
    return (at + bytes) * 0x9e3779b97f4a7c15u;
}

static int whole(void)
{
    for (size_t at = 0; at < bytes; at += 512)
        if (!(holes && at / BLOCK % 2) && *(uint64_t *)(memory + at) != word_at(at))
            return 0;
    return 1;
}

static void become(const char *program, const char *mib, const char *word)
{
    execl("/proc/self/exe", program, mib, word, (char *)NULL);
    give_up("exec");
}

/* A second thread, so that there is one to be bound. */
static pthread_t second;

static void *wait_for_ever(void *mib)
{
    sigset_t relayed;
    int signal;
    sigemptyset(&relayed);
    sigaddset(&relayed, SIGUSR1);
    sigwait(&relayed, &signal);
    become("changes", mib, "relay");
    return NULL;
}

static void be_traced(void)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    int told[2];
    char byte;
    pid_t parent = getpid();
    if (pipe(told))
        give_up("pipe");
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_ATTACH, parent, 0, 0))
            give_up("ptrace");
        waitpid(parent, NULL, __WALL);
        while (access("release", F_OK))
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        if (write(told[1], "x", 1) != 1)
            give_up("write");
        ptrace(PTRACE_DETACH, parent, 0, 0);
        _exit(0);
    }
    /* Stopped somewhere in here. */
    if (child < 0 || read(told[0], &byte, 1) != 1)
        give_up("traced");
    waitpid(child, NULL, 0);
    close(told[0]);
    close(told[1]);
}

static void serve(char **arguments);

static void *go_on(void *arguments)
{
    serve(arguments);
    exit(whole() ? 0 : 3);
}

static void change(const char *word, char **arguments)
{
    pthread_t thread;
    if (!strcmp(word, "exit")) {
        _exit(0);
    } else if (!strcmp(word, "exec")) {
        become(arguments[0], arguments[1], word);
    } else if (!strcmp(word, "relay")) {
        pthread_kill(second, SIGUSR1);
        for (;;)
            pause();
    } else if (!strcmp(word, "fork")) {
        for (int i = 0; i < 200; i++) {
            pid_t child = fork();
            if (child == 0)
                _exit(whole() ? 0 : 3);
            int status = 1;
            if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
                give_up("fork");
        }
    } else if (!strcmp(word, "child")) {
        int parent[2];
        char byte;
        if (pipe(parent))
            give_up("pipe");
        pid_t child = fork();
        if (child < 0)
            give_up("fork");
        close(parent[child ? 0 : 1]);
        if (child == 0)
            _exit(read(parent[0], &byte, 1) != 0);
    } else if (!strcmp(word, "unmap")) {
        holes = 1;
        for (size_t at = BLOCK; at < bytes; at += 2 * BLOCK)
            munmap(memory + at, BLOCK);
    } else if (!strcmp(word, "scatter")) {
        char *many = mmap(NULL, 60000 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t page = 0; page < 60000; page += 2)
            if (mprotect(many + page * 4096, 4096, PROT_NONE))
                give_up("mprotect");
    } else if (!strcmp(word, "stop")) {
        raise(SIGSTOP);
    } else if (!strcmp(word, "trace")) {
        be_traced();
    } else if (!strcmp(word, "stranger")) {
        if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
            give_up("stranger");
    } else if (!strcmp(word, "hide")) {
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    } else if (!strcmp(word, "leave")) {
        if (pthread_create(&thread, NULL, go_on, arguments))
            give_up("pthread_create");
        pthread_exit(NULL);
    } else if (!strcmp(word, "deadline")) {
        /* include/uapi/linux/sched/types.h, which the C library has of late */
        struct { uint32_t size, policy; uint64_t flags; uint32_t nice, priority; uint64_t runtime, deadline, period; } how = {
            .size = sizeof how, .policy = 6, .runtime = 5000000, .deadline = 10000000, .period = 10000000};
        if (syscall(SYS_sched_setattr, 0, &how, 0))
            give_up("sched_setattr");
    } else if (strcmp(word, "idle")) {
        give_up("an unknown word");
    }
}

/* Line by line, to the end of the input. */
static void serve(char **arguments)
{
    char word[64];
    while (scanf("%63s", word) == 1) {
        change(word, arguments);
        printf("done %s\n", word);
        fflush(stdout);
    }
}

int main(int count, char **arguments)
{
    if (count < 2)
        return 2;
    sigset_t relayed;
    sigemptyset(&relayed);
    sigaddset(&relayed, SIGUSR1);
    sigprocmask(SIG_BLOCK, &relayed, NULL);
    bytes = strtoul(arguments[1], NULL, 10) << 20;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    memory = mmap(AT, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory != AT)
        give_up("mmap");
    for (size_t at = 0; at < bytes; at += 512)
        *(uint64_t *)(memory + at) = word_at(at);
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    if (pthread_create(&second, NULL, wait_for_ever, arguments[1]))
        give_up("pthread_create");
    if (count > 2)
        printf("done %s\n", arguments[2]);
    else
        printf("ready %d\n", getpid());
    fflush(stdout);
    serve(arguments);
    return whole() ? 0 : 3;
}
