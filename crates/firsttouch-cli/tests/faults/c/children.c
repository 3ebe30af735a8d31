// Who gets the agent: the placed process, also when it becomes another program; its children only if they are followed.
//# once: who gets the agent
//# bare: spawn
//# expect: stdout=parent without
//# expect: stdout=child without
//# run: -- spawn
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- spawnp
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- pidfd_spawn
//# expect: stdout=parent with
//# expect: stdout=child alone
//# run: --follow -- pidfd_spawnp
//# expect: stdout=parent with
//# expect: stdout=child with it
//# run: -- execv
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execve
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execvp
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execvpe
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execl
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execlp
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execle
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- fexecve
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- execveat
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- vfork
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- system
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: -- popen
//# expect: stdout=parent with
//# expect: stdout=child without
//# run: --follow -- spawn
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- execvp
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- execl
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- execle
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- fexecve
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- execveat
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- vfork
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: --follow -- system
//# expect: stdout=parent with
//# expect: stdout=child with
//# bare: refused
//# run: -- refused
//# run: --follow -- refused
//# run: -- placed
//# expect: stdout=parent with
//# expect: stdout=child with
//# exec: -- placed
//# expect: stdout=parent with
//# expect: stdout=child with
//# run: -- become
//# expect: stdout=parent with
//# expect: stdout=child with
//# expect: complete=true
//# expect: placed>=20M
//# run: -- show
//# inside: exec "$@"
//# expect: stdout=child with
//# expect: placed>=20M
//# run: -- show
//# inside: "$@"; exit 4
//# expect: exit=4
//# expect: stdout=child without
//# run: --follow -- show
//# inside: "$@"; exit 4
//# expect: exit=4
//# expect: stdout=child with
#include "check.h"
#include <dlfcn.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>

extern char **environ;

/* In the environment, and at work. */
static void show(const char *who)
{
    int named = getenv("FIRSTTOUCH_AGENT") != NULL, loaded = getenv("LD_PRELOAD") != NULL;
    uint32_t status[64] = {0};
    void (*agent_status)(void *, size_t) = dlsym(RTLD_DEFAULT, "firsttouch_agent_status");
    if (agent_status != NULL)
        agent_status(status, sizeof status);
    int works = status[1] == 1;
    const char *what = named && loaded && works ? "with" : !named && !loaded && !works ? "without" : "in between";
    dprintf(1, "%s %s\n", who, what);
}

/* What the kernel refuses to execute is refused as it is without us: a FIFO at once, bad pointers without a signal. */
static void be_refused(char **words)
{
    char *volatile bad = (char *)8;
    char fifo[] = "/tmp/firsttouch-fifo-XXXXXX", *missing[] = {"A=1", bad, NULL};
    CHECK(mkdtemp(fifo) != NULL && chdir(fifo) == 0 && mkfifo("fifo", 0700) == 0);
    alarm(LIMIT_S / 4);
    pid_t unused;
    int answer = posix_spawn(&unused, "./fifo", NULL, NULL, words, environ);
    int executed = execve("./fifo", words, environ), error = errno;
    CHECK(unlink("fifo") == 0 && rmdir(fifo) == 0);
    CHECK(answer == EACCES && executed == -1 && error == EACCES);
    for (int round = 0; round < 2; round++) {
        CHECK(execve(bad, words, environ) == -1 && errno == EFAULT);
        CHECK(execve(words[0], words, (char **)bad) == -1 && errno == EFAULT);
        CHECK(execve(words[0], words, missing) == -1 && errno == EFAULT);
        CHECK(execveat(0, bad, words, environ, 0) == -1 && errno == EFAULT);
        CHECK(posix_spawn(&unused, words[0], NULL, NULL, words, missing) == EFAULT);
        CHECK(setrlimit(RLIMIT_AS, (void *)bad) == -1 && errno == EFAULT);
        CHECK(prlimit(0, RLIMIT_DATA, (void *)bad, NULL) == -1 && errno == EFAULT);
        pid_t child = fork();
        if (child == 0)
            continue;
        CHECK(end_of(child) == 0);
        return;
    }
    _exit(0);
}

/* By pidfd_spawn or pidfd_spawnp, of glibc 2.39. Without them, and where they may be missing, as programs do then. */
static void start_by_descriptor(const char *name, int may_be_missing, char **words)
{
    int (*spawn)(int *, const char *, const void *, const void *, char **, char **) = dlsym(RTLD_DEFAULT, name);
    int descriptor = -1, answer = spawn == NULL ? ENOSYS : spawn(&descriptor, words[0], NULL, NULL, words, environ);
    if (may_be_missing && answer == ENOSYS) {
        pid_t child;
        CHECK(posix_spawn(&child, words[0], NULL, NULL, words, environ) == 0 && end_of(child) == 0);
        return;
    }
    siginfo_t end = {0};
    CHECK(answer == 0 && waitid(P_PIDFD, descriptor, &end, WEXITED) == 0);
    CHECK(end.si_code == CLD_EXITED && end.si_status == 0);
}

/* As who starts a placed program does: the settings are those of that one, whatever this process has. */
static void place_child(void)
{
    char settings[5000];
    CHECK(snprintf(settings, sizeof settings, "follow=0 %s", getenv("FIRSTTOUCH_AGENT")) < (int)sizeof settings);
    char *number = strstr(settings, "pid=") + 4, *record = strstr(settings, " record=");
    memset(number, '0', strspn(number, "0123456789"));
    if (record != NULL)
        *record = 0;
    CHECK(setenv("FIRSTTOUCH_AGENT", settings, 1) == 0);
}

int main(int count, char **arguments)
{
    CHECK(count >= 2);
    const char *way = arguments[1];
    filled_block(20 * MIB, 1);
    if (strcmp(way, "show") == 0) {
        for (int index = 2; index < count; index++)
            CHECK(atoi(arguments[index]) == index);
        show("child");
        return 0;
    }
    if (strcmp(way, "tell") == 0) {
        dprintf(1, "child %s\n", dlsym(RTLD_DEFAULT, "firsttouch_agent_status") == NULL ? "alone" : "with it");
        return 0;
    }
    if (strcmp(way, "refused") == 0) {
        char *words[] = {"/proc/self/exe", "show", NULL};
        be_refused(words);
        return 0;
    }
    show("parent");
    char self[4096], line[5000], *words[] = {self, "show", NULL};
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = 0;
    snprintf(line, sizeof line, "'%s' show", self);
#define IS(name) (strcmp(way, name) == 0)
    if (IS("become")) {
        execv(self, words);
        CHECK(!"execv");
    }
    if (IS("system")) {
        CHECK(system(line) == 0);
        return 0;
    }
    if (IS("popen")) {
        char said[100];
        FILE *reader = popen(line, "r");
        CHECK(reader != NULL && fgets(said, sizeof said, reader) != NULL && pclose(reader) == 0);
        dprintf(1, "%s", said);
        return 0;
    }
    if (IS("pidfd_spawn") || IS("pidfd_spawnp")) {
        /* What is loaded for nothing has left the environment by the time that a child shows it. */
        words[1] = "tell";
        start_by_descriptor(way, count == 2, words);
        return 0;
    }
    if (IS("placed"))
        place_child();
    pid_t child = 0;
    if (IS("spawn") || IS("placed")) {
        CHECK(posix_spawn(&child, self, NULL, NULL, words, environ) == 0);
    } else if (IS("spawnp")) {
        CHECK(posix_spawnp(&child, self, NULL, NULL, words, environ) == 0);
    } else if (IS("vfork")) {
        child = vfork();
        if (child == 0) {
            execve(self, words, environ);
            _exit(9);
        }
    } else {
        child = fork();
        CHECK(child >= 0);
    }
    if (child == 0) {
        if (IS("execv"))
            execv(self, words);
        else if (IS("execve"))
            execve(self, words, environ);
        else if (IS("execvp"))
            execvp(self, words);
        else if (IS("execvpe"))
            execvpe(self, words, environ);
        else if (IS("execl"))
            execl(self, self, "show", "2", "3", "4", "5", "6", "7", "8", "9", (char *)NULL);
        else if (IS("execlp"))
            execlp(self, self, "show", "2", "3", "4", (char *)NULL);
        else if (IS("execle"))
            execle(self, self, "show", "2", "3", "4", "5", "6", "7", (char *)NULL, environ);
        else if (IS("fexecve"))
            fexecve(open(self, O_RDONLY | O_CLOEXEC), words, environ);
        else if (IS("execveat"))
            execveat(AT_FDCWD, self, words, environ, 0);
        CHECK(!"exec");
    }
    CHECK(end_of(child) == 0);
    return 0;
}
