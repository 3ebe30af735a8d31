// Whom the control channel listens to: the user that the program runs as now, and nobody else.
//# once: whom the agent listens to
//# requires: root
//# exec: --attachable -- foreign
//# exec: --attachable -- dropped
//# exec: --attachable -- nobody
#include "check.h"
#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { SOMEBODY = 12345, NOBODY = 65534 };

/* The name is read before rights are given up. */
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_bytes;

static void find_channel(void)
{
    char text[1024];
    int file = open("/proc/self/stat", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    CHECK(length > 0);
    text[length] = 0;
    char *at = strrchr(text, ')') + 2;
    for (int field = 3; field < 22; field++)
        at = strchr(at, ' ') + 1;
    int bytes =
        snprintf(address.sun_path + 1, 100, "firsttouch-attach-%d-%llu", getpid(), strtoull(at, NULL, 10));
    address_bytes = offsetof(struct sockaddr_un, sun_path) + 1 + bytes;
}

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

/* Every thread has this user and no capability to become another. */
static void all_are(uid_t user)
{
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    int count = 0;
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
        count++;
    }
    closedir(tasks);
    CHECK(count == 2);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const char *way = arguments[1];
    find_channel();
    CHECK(strncmp(greeted(), "ok 1 ", 5) == 0);
    if (strcmp(way, "foreign") == 0) {
        expect_for(SOMEBODY, "error 13");
    } else if (strcmp(way, "dropped") == 0) {
        CHECK(setgid(SOMEBODY) == 0);
        CHECK(setuid(SOMEBODY) == 0);
        all_are(SOMEBODY);
        /* Nobody may look into a process that has changed its user, until it says so. */
        CHECK(strcmp(greeted(), "error 13\n") == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(strncmp(greeted(), "ok 1 ", 5) == 0);
    } else if (strcmp(way, "nobody") == 0) {
        /* By this number the kernel shows all users that have none in a container. */
        CHECK(setuid(NOBODY) == 0);
        CHECK(prctl(PR_SET_DUMPABLE, 1) == 0);
        CHECK(strcmp(greeted(), "error 13\n") == 0);
    } else {
        CHECK(!"a known way");
    }
    return 0;
}
