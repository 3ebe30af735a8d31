/* witness [PERIOD_US]: says when the processors were not there, because the host of a virtual machine had taken them.
 *
 * One thread on every CPU that it may use, before all others there (SCHED_FIFO, where that is allowed), wakes every PERIOD_US.
 * Where a wake-up comes late, the time from when it was due is split in two. How long the thread stood in the queue of a
 * processor that was there and ran something else (code of the kernel that does not give way) the kernel tells (schedstat):
 * that is `waited`. The rest passed before even the interrupt of the timer was served: the processor was not there.
 *
 * Commands are lines of its input; every answer is one line of JSON.
 *   gaps       the late wake-ups since the last such command: [CPU, due, awake, waited], ns of CLOCK_MONOTONIC
 * The end of the input ends it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_GAPS = 1 << 16 };
static const uint64_t LATE_NS = 100 * 1000;

struct gap {
    uint64_t due_ns, awake_ns, waited_ns;
};

/* Written by its thread alone; `count` after the gap itself, so that nobody has to wait for a lock. */
struct witness {
    pthread_t thread;
    int cpu, schedstat;
    size_t said;
    _Atomic size_t count, missed;
    struct gap gaps[MOST_GAPS];
};

static uint64_t period_ns = 500 * 1000;
static atomic_int first, ended;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t waited_ns(const struct witness *witness)
{
    char text[64] = {0};
    unsigned long long waited = 0;
    if (pread(witness->schedstat, text, sizeof text - 1, 0) > 0)
        sscanf(text, "%*u %llu", &waited);
    return waited;
}

static void *watch(void *argument)
{
    struct witness *witness = argument;
    struct sched_param most = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &most) == 0)
        first = 1;
    witness->schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
    uint64_t due = now_ns() + period_ns;
    while (!ended) {
        /* Short waits are many: read each time, so that they are not taken for a part of the next gap. */
        uint64_t before = waited_ns(witness);
        struct timespec until = {.tv_sec = due / 1000000000u, .tv_nsec = due % 1000000000u};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        uint64_t awake = now_ns();
        if (awake > due + LATE_NS) {
            size_t count = witness->count;
            if (count < MOST_GAPS) {
                witness->gaps[count] = (struct gap){due, awake, waited_ns(witness) - before};
                witness->count = count + 1;
            } else {
                witness->missed++;
            }
        }
        due = awake + period_ns;
    }
    return NULL;
}

static void say(struct witness *witnesses, int count)
{
    const char *comma = "";
    size_t missed = 0;
    printf("{\"first\":%s,\"cpus\":%d,\"gaps\":[", first ? "true" : "false", count);
    for (struct witness *witness = witnesses; witness < witnesses + count; witness++) {
        for (size_t all = witness->count; witness->said < all; witness->said++, comma = ",") {
            struct gap gap = witness->gaps[witness->said];
            printf("%s[%d,%llu,%llu,%llu]", comma, witness->cpu, (unsigned long long)gap.due_ns,
                   (unsigned long long)gap.awake_ns, (unsigned long long)gap.waited_ns);
        }
        missed += witness->missed;
    }
    printf("],\"missed\":%zu}\n", missed);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    cpu_set_t allowed;
    char line[64];
    int cpus = 0;
    if (count > 1)
        period_ns = strtoul(arguments[1], NULL, 10) * 1000;
    if (period_ns == 0 || sched_getaffinity(0, sizeof allowed, &allowed))
        return 2;
    struct witness *witnesses = calloc(CPU_COUNT(&allowed), sizeof *witnesses);
    /* A page that is not there yet would be a gap of our own. */
    if (witnesses == NULL || mlockall(MCL_CURRENT | MCL_FUTURE))
        return 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        cpu_set_t one;
        pthread_attr_t attributes;
        struct witness *witness = &witnesses[cpus++];
        witness->cpu = cpu;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_attr_init(&attributes);
        pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
        if (pthread_create(&witness->thread, &attributes, watch, witness))
            return 1;
    }
    printf("ready %d\n", getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "gaps", 4))
            return 2;
        say(witnesses, cpus);
    }
    ended = 1;
    for (int index = 0; index < cpus; index++)
        pthread_join(witnesses[index].thread, NULL);
    return 0;
}
