/* loopback [FILES] -- PROGRAM: a guest that has no network gets its own address, which launchers talk over, and becomes the program.
 * The files are what the program starts besides. */
#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **words) {
    int at = 1;
    while (at < count && strcmp(words[at], "--"))
        at++;
    struct ifreq request = {.ifr_name = "lo"};
    int channel = socket(AF_INET, SOCK_DGRAM, 0);
    if (ioctl(channel, SIOCGIFFLAGS, &request)) {
        perror("loopback");
        return 1;
    }
    request.ifr_flags |= IFF_UP;
    if (ioctl(channel, SIOCSIFFLAGS, &request)) {
        perror("loopback");
        return 1;
    }
    sethostname("localhost", 9);
    if (at + 1 < count)
        execvp(words[at + 1], words + at + 1);
    perror("loopback");
    return 127;
}
