/* Where a process listens that may be attached to. */
#ifndef CHANNEL_H
#define CHANNEL_H
#include "check.h"
#include <sys/socket.h>
#include <sys/un.h>

/* Its address, and how many bytes of that count. */
static inline socklen_t channel_address(pid_t process, struct sockaddr_un *address)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    read_text(path, text, sizeof text);
    char *at = strrchr(text, ')') + 2;
    for (int field = 3; field < 22; field++)
        at = strchr(at, ' ') + 1;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int bytes = snprintf(address->sun_path + 1, 100, "firsttouch-attach-%d-%llu", process, strtoull(at, NULL, 10));
    return offsetof(struct sockaddr_un, sun_path) + 1 + bytes;
}

#endif
