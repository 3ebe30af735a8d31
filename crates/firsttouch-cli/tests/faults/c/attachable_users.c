// Whom the control channel listens to: the user that the program runs as now, and nobody else; and that its thread has no right that
// the program has given up, nor stands in the way of what wants one thread only: another user namespace.
//# once: whom the agent listens to
//# requires: root
//# exec: --attachable -- foreign
//# exec: --attachable -- dropped
//# exec: --attachable -- nobody
//# exec: --attachable -- kept
//# exec: --attachable -- given_up
//# exec: --attachable -- by_itself
//# exec: --attachable -- namespaces
//# exec: --attachable -- namespaces_by_itself
#include "channel.h"
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { SOMEBODY = 12345, NOBODY = 65534 };

/* The name is read before rights are given up. */
static struct sockaddr_un address;
static socklen_t address_bytes;

/* What the channel says to `version` first: `ok 1 …`, or `error 13` before it was asked. */
static const char *greeted(void)
{
    static char line[100];
    int channel = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (connect(channel, (void *)&address, address_bytes) != 0)
        CHECK(errno == ECONNREFUSED && sched_yield() == 0);
    send(channel, "version\n", 8, MSG_NOSIGNAL);
    ssize_t length = read(channel, line, sizeof line - 1);
    CHECK(length > 0);
    line[length] = 0;
    close(channel);
    return line;
}

/* What somebody else hears. */
static void expect_for(uid_t user, const char *expected)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(syscall(SYS_setresuid, user, user, user) == 0);
        CHECK(strncmp(greeted(), expected, strlen(expected)) == 0);
        _exit(7);
    }
    CHECK(end_of(child) == 7);
}

/* The kernel shows a thread for a moment after its end. */
static void await_threads(int threads)
{
    double limit_s = now_s() + LIMIT_S;
    /* Beside the folder's own entry and its parent's. */
    for (struct stat folder;; sched_yield()) {
        CHECK(stat("/proc/self/task", &folder) == 0);
        if ((int)folder.st_nlink - 2 == threads)
            break;
        CHECK(now_s() < limit_s);
    }
}

/* Every thread, of so many, has this user and no capability to become another. */
static void all_are(uid_t user, int threads)
{
    await_threads(threads);
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        char path[300], text[4096];
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        int file = open(path, O_RDONLY);
        ssize_t length = read(file, text, sizeof text - 1);
        close(file);
        CHECK(length > 0);
        text[length] = 0;
        unsigned real, effective, saved, files;
        CHECK(sscanf(strstr(text, "\nUid:"), "\nUid: %u %u %u %u", &real, &effective, &saved, &files) == 4);
        CHECK(real == user && effective == user && saved == user && files == user);
        CHECK(strstr(text, "CapPrm:\t0000000000000000") != NULL);
    }
    closedir(tasks);
}

/* Nothing but these capabilities is left to the calling thread. */
static void keep_only(unsigned capabilities)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{.permitted = capabilities, .effective = capabilities}};
    CHECK(syscall(SYS_capset, &header, data) == 0);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const char *way = arguments[1];
    address_bytes = channel_address(getpid(), &address);
    CHECK(strncmp(greeted(), "ok 1 ", 5) == 0);
    if (strcmp(way, "foreign") == 0) {
        expect_for(SOMEBODY, "error 13");
    } else if (strcmp(way, "dropped") == 0) {
        CHECK(setgid(SOMEBODY) == 0);
        CHECK(setuid(SOMEBODY) == 0);
        all_are(SOMEBODY, 2);
        /* Nobody may look into a process that has changed its user, until it says so. */
        CHECK(strcmp(greeted(), "error 13\n") == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(strncmp(greeted(), "ok 1 ", 5) == 0);
    } else if (strcmp(way, "nobody") == 0) {
        /* By this number the kernel shows all users that have none in a container. */
        CHECK(setuid(NOBODY) == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(strcmp(greeted(), "error 13\n") == 0);
    } else if (strcmp(way, "kept") == 0) {
        /* A daemon that keeps the right to change its user when it does so first. */
        CHECK(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0);
        CHECK(setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0);
        keep_only(1 << CAP_SETUID | 1 << CAP_SETGID);
        CHECK(setgroups(0, NULL) == 0);
        CHECK(setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0);
        CHECK(setresuid(SOMEBODY + 1, SOMEBODY + 1, SOMEBODY + 1) == 0);
        keep_only(0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(strncmp(greeted(), "ok 1 ", 5) == 0);
        all_are(SOMEBODY + 1, 2);
    } else if (strcmp(way, "given_up") == 0) {
        keep_only(0);
        all_are(0, 2);
    } else if (strcmp(way, "by_itself") == 0) {
        CHECK(syscall(SYS_setresuid, SOMEBODY, SOMEBODY, SOMEBODY) == 0);
        all_are(SOMEBODY, 1);
    } else if (strncmp(way, "namespaces", 10) == 0) {
        // The thread begins again after what it does not stand in the way of.
        int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        CHECK(own >= 0 && setns(own, CLONE_NEWNET) == 0 && setns(own, 0) == 0);
        if (strcmp(way, "namespaces") == 0)
            expect_for(0, "ok 1 ");
        int answer = strcmp(way, "namespaces") == 0 ? unshare(CLONE_NEWUSER) : (int)syscall(SYS_unshare, CLONE_NEWUSER);
        CHECK(answer == 0);
        int map = open("/proc/self/uid_map", O_WRONLY);
        CHECK(map >= 0 && write(map, "0 0 1", 5) == 5 && close(map) == 0);
        char *block = malloc(32 * MIB);
        CHECK(block != NULL);
        fill(block, 32 * MIB, 3);
        CHECK(holds(block, 32 * MIB, 3));
        // The latest that it is there again.
        expect_for(0, "ok 1 ");
        free(block);
    } else {
        CHECK(!"a known way");
    }
    return 0;
}
