// Runs a program and kills it right before its Nth system call that changes something: kill_at N FILE PROGRAM [ARGUMENT]...; N:SIGNAL
// sends that signal, and the program goes on if it can.
// How many of them it made is written to FILE. Ends with 137 if it was killed, with the program's status if it made fewer.
// 0 kills nobody. Needs PTRACE_GET_SYSCALL_INFO (Linux 5.3).
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int changes(const struct __ptrace_syscall_info *call) {
    switch (call->entry.nr) {
    case SYS_openat:
        return (call->entry.args[2] & (O_CREAT | O_TRUNC)) != 0;
    case SYS_prlimit64:
        return call->entry.args[2] != 0;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_ftruncate:
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_symlinkat:
#ifdef SYS_rename
    case SYS_rename:
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_mkdir:
    case SYS_symlink:
#endif
#ifdef SYS_renameat
    case SYS_renameat:
#endif
        return 1;
    default:
        return 0;
    }
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "kill_at N FILE PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    char *end = NULL;
    long wanted = strtol(argv[1], &end, 10), made = 0;
    int sent = *end == ':' ? atoi(end + 1) : SIGKILL;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(126);
        raise(SIGSTOP);
        execv(argv[3], argv + 3);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status))
        return 126;
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    long forwarded = 0;
    for (;;) {
        ptrace(PTRACE_SYSCALL, child, NULL, forwarded);
        forwarded = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) || WIFSIGNALED(status))
            break;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            // The trap after execve is not the program's.
            forwarded = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
            continue;
        }
        struct __ptrace_syscall_info call;
        if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof call, &call) <= 0)
            return 126;
        if (call.op != PTRACE_SYSCALL_INFO_ENTRY || !changes(&call))
            continue;
        made++;
        if (made == wanted)
            kill(child, sent);
    }
    FILE *file = fopen(argv[2], "w");
    if (file) {
        fprintf(file, "%ld\n", made);
        fclose(file);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
