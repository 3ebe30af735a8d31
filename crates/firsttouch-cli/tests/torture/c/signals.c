/* Signals that arrive everywhere, and do what a handler may. */
#include "torture.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t arrived;

/* Once: the next signal is asked for by the handler of this one, so that the program comes to its own work between two,
 * however slow the machine is. */
static void set_timer(uint64_t us)
{
    struct itimerval timer = {.it_value = {.tv_usec = (suseconds_t)us}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void look(void)
{
    arrived++;
    /* Reads a block, which may be a placed one. */
    const struct block *monument = &monuments[arrived % 3];
    check_prefix(monument, monument->bytes < 64 * KIB ? monument->bytes : 64 * KIB, 0);
}

static void look_around(int signal)
{
    (void)signal;
    int before = errno;
    look();
    set_timer(options.signal_us);
    errno = before;
}

/* fork may be called by a handler where there is one thread, whatever it interrupts (glibc's tst-mallocfork2). */
static void fork_here(int signal)
{
    (void)signal;
    int before = errno, status;
    look();
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    set_timer(options.signal_us);
    errno = before;
}

void begin_signals(void)
{
    if (options.signal_us == 0)
        return;
    struct sigaction action = {.sa_handler = options.forking_signals ? fork_here : look_around, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    set_timer(options.signal_us);
}

void end_signals(void)
{
    if (options.signal_us == 0)
        return;
    CHECK(signal(SIGALRM, SIG_IGN) != SIG_ERR);
    set_timer(0);
}
