/* Who watches the program: tells at which operation it failed, died or stopped. */
#include "torture.h"
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

__thread struct worker *current;

/* Shared with all children: what everybody is at. */
static struct progress {
    _Atomic uint64_t done;
    struct {
        _Atomic uint64_t operation;
        _Atomic unsigned kind;
    } at[MOST_WORKERS];
} *progress;
static pid_t watcher;

uint64_t operations_done(void)
{
    return atomic_load(&progress->done);
}

void note_operation(const struct worker *worker)
{
    atomic_fetch_add(&progress->done, 1);
    if (worker->depth > 0)
        return;
    atomic_store(&progress->at[worker->number].operation, worker->operation);
    atomic_store(&progress->at[worker->number].kind, worker->kind);
}

/* Without the C library's streams, which may be what is broken. */
static void say_text(const char *text)
{
    if (write(2, text, strlen(text)) < 0)
        _exit(1);
}

static void say(const char *what, long value)
{
    char text[24], *at = text + sizeof text;
    unsigned long rest = value < 0 ? 0 : (unsigned long)value;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    say_text(what);
    if (write(2, at, (size_t)(text + sizeof text - at)) < 0)
        _exit(1);
}

static void say_operation(void)
{
    if (current == NULL)
        return;
    say(" in worker ", current->number);
    say(", depth ", current->depth);
    say(", operation ", (long)current->operation);
    say_text(", ");
    say_text(kind_name(current->kind));
}

void failed(const char *file, int line, const char *what)
{
    int error = errno;
    dprintf(2, "torture: failed: %s:%d: %s (errno %d)", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line, what, error);
    if (current != NULL)
        dprintf(2, ", worker %u, depth %u, operation %lu, %s", current->number, current->depth, current->operation,
                kind_name(current->kind));
    dprintf(2, "\n");
    syscall(SYS_exit_group, 1);
    __builtin_unreachable();
}

static void died(int signal, siginfo_t *information, void *unused)
{
    (void)unused;
    say("torture: failed: signal ", signal);
    say(" at page ", (long)((uintptr_t)information->si_addr / PAGE));
    say_operation();
    say_text("\n");
    raise(signal);
}

static void watch(void) __attribute__((noreturn));
static void watch(void)
{
    uint64_t seen = 0;
    for (uint64_t quiet_s = 0; quiet_s < options.limit_s; quiet_s++) {
        syscall(SYS_poll, NULL, 0, 1000);
        uint64_t now = operations_done();
        if (now != seen)
            quiet_s = 0;
        seen = now;
    }
    say("torture: failed: hangs: no operation ended in so many seconds: ", (long)options.limit_s);
    for (unsigned i = 0; i < options.threads; i++) {
        say("; worker ", i);
        say(" at operation ", (long)atomic_load(&progress->at[i].operation));
        say_text(" ");
        say_text(kind_name(atomic_load(&progress->at[i].kind)));
    }
    say_text("\n");
    kill(0, SIGKILL);
    _exit(1);
}

/* The watcher is a process, because everything in this one may stand still; it is made without the C library, whose fork
 * may be what does not come back. */
void begin_watch(void)
{
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(progress != MAP_FAILED);
    struct sigaction action = {.sa_sigaction = died, .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER};
    const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        CHECK(sigaction(signals[i], &action, NULL) == 0);
    if (options.limit_s == 0)
        return;
    /* Everybody in one group, which can be ended together. */
    if (getpgrp() != getpid())
        CHECK(setpgid(0, 0) == 0);
    watcher = (pid_t)syscall(SYS_fork);
    CHECK(watcher >= 0);
    if (watcher == 0) {
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
        watch();
    }
}

void end_watch(void)
{
    if (watcher == 0)
        return;
    int status;
    CHECK(kill(watcher, SIGKILL) == 0);
    CHECK(waitpid(watcher, &status, 0) == watcher);
}
