/* Says on which CPUs its threads may run: what the kernel says, and what the program is told. */
#define _GNU_SOURCE
#include "kernel_cpus.h"
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static pthread_barrier_t meeting;

static void say(const char *who, int number) {
    cpu_set_t told, by_handle, by_number;
    sched_getaffinity(0, sizeof told, &told);
    pthread_getaffinity_np(pthread_self(), sizeof by_handle, &by_handle);
    /* The call itself answers with the bytes that it has filled, and leaves the others alone. */
    unsigned char *bytes = memset(&by_number, 0x55, sizeof by_number);
    long filled = syscall(SYS_sched_getaffinity, 0, sizeof by_number, &by_number);
    for (long byte = filled; byte < (long)sizeof by_number; byte++) {
        if (byte < 0 || bytes[byte] != 0x55) exit(5);
        bytes[byte] = 0;
    }
    char line[65536];
    int length = sprintf(line, "%s %d on", who, number);
    length += kernel_cpus(line + length);
    sprintf(line + length, " told %d %d %d\n", CPU_COUNT(&told), CPU_COUNT(&by_handle), CPU_COUNT(&by_number));
    fputs(line, stdout);
}

static pid_t ids[64];

static void *work(void *number) {
    ids[(long)number - 1] = gettid();
    say("thread", (int)(long)number);
    pthread_barrier_wait(&meeting);
    return number;
}

static void start_and_join(int count) {
    pthread_t threads[64];
    pthread_barrier_init(&meeting, NULL, count + 1);
    for (long i = 0; i < count; i++) pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    pthread_barrier_wait(&meeting);
    for (long i = 0; i < count; i++) {
        void *answer;
        pthread_join(threads[i], &answer);
        if (answer != (void *)(i + 1)) exit(3);
    }
}

/* The kernel takes a thread down a moment after it was joined. */
static void wait_for_ends(int count) {
    for (int i = 0; i < count; i++)
        while (syscall(SYS_tgkill, getpid(), ids[i], 0) == 0) sched_yield();
}

static void *say_own(void *ignored) {
    say("own", 0);
    return ignored;
}

/* A thread that the program binds by attributes, one that it binds when it runs, and what they create. */
static int binds_by_number;
static void *bind_and_create(void *cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((int)(long)cpu, &one);
    if (binds_by_number)
        syscall(SYS_sched_setaffinity, 0, sizeof one, &one);
    else
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    say("bound", 0);
    pthread_t inner;
    pthread_create(&inner, NULL, say_own, NULL);
    pthread_join(inner, NULL);
    return NULL;
}

static void own(int cpu) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, &attributes, say_own, NULL);
        pthread_join(thread, NULL);
    }
    for (binds_by_number = 0; binds_by_number < 2; binds_by_number++) {
        pthread_create(&thread, NULL, bind_and_create, (void *)(long)cpu);
        pthread_join(thread, NULL);
    }
}

/* Every way to start another program. */
static void *children(void *ignored) {
    char *words[] = {"sh", "-c", "grep Cpus_allowed_list /proc/self/status", NULL};
    fflush(stdout);
    system(words[2]);
    FILE *pipe = popen(words[2], "r");
    char line[256];
    while (fgets(line, sizeof line, pipe)) fputs(line, stdout);
    pclose(pipe);
    fflush(stdout);
    pid_t child;
    posix_spawnp(&child, "sh", NULL, NULL, words, environ);
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) {
        execv("/bin/sh", words);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    child = fork();
    if (child == 0) {
        start_and_join(2);
        fflush(stdout);
        execlp("sh", "sh", "-c", words[2], (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    say("after", 0);
    return ignored;
}

static int cleaned;
static void clean(void *ignored) { (void)ignored; cleaned++; }

static void *leave_early(void *ignored) {
    pthread_cleanup_push(clean, NULL);
    pthread_exit((void *)7);
    pthread_cleanup_pop(0);
    return ignored;
}

static void *wait_for_ever(void *ignored) {
    pthread_cleanup_push(clean, NULL);
    pthread_barrier_wait(&meeting);
    for (;;) pause();
    pthread_cleanup_pop(0);
    return ignored;
}

static void endings(void) {
    pthread_t thread;
    void *answer;
    pthread_create(&thread, NULL, leave_early, NULL);
    pthread_join(thread, &answer);
    if (answer != (void *)7) exit(4);
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    pthread_barrier_wait(&meeting);
    pthread_cancel(thread);
    pthread_join(thread, &answer);
    printf("cancelled %d cleaned %d\n", answer == PTHREAD_CANCELED, cleaned);
}

int main(int count, char **words) {
    const char *what = words[1];
    int number = count > 2 ? atoi(words[2]) : 0;
    if (strcmp(what, "threads") == 0) {
        say("main", 0);
        start_and_join(number);
        wait_for_ends(number);
    } else if (strcmp(what, "phases") == 0) {
        for (int phase = 0; phase < 5; phase++) start_and_join(number);
    } else if (strcmp(what, "own") == 0) {
        own(number);
    } else if (strcmp(what, "children") == 0) {
        children(NULL);
        pthread_t thread;
        pthread_create(&thread, NULL, children, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(what, "endings") == 0) {
        endings();
    } else if (strcmp(what, "many") == 0) {
        for (int i = 0; i < number; i++) start_and_join(60);
    }
    return 0;
}
