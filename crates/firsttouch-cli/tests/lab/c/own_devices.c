/* own_devices WORDS: uses devices (disk0 and disk1: the disk on that node; card: an address of eth0), touches 16 MiB on
   node 0 from the CPUs there, and has itself attached to near what it uses. The document goes to attach.json. */
#include "numa.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <glob.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES (16UL << 20)

/* The first disk of the controller on a node, kept open. */
static void open_disk(int node) {
    glob_t found;
    if (glob("/sys/class/nvme/nvme*", 0, NULL, &found))
        give_up("no NVMe");
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char path[300];
        int here = -1;
        snprintf(path, sizeof path, "%s/device/numa_node", found.gl_pathv[i]);
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%d", &here) != 1)
            give_up(path);
        fclose(file);
        snprintf(path, sizeof path, "/dev%sn1", strrchr(found.gl_pathv[i], '/'));
        if (here == node && open(path, O_RDONLY) < 0)
            give_up(path);
    }
    globfree(&found);
}

/* A socket on an address that the card is given. */
static void open_card(void) {
    int socket_ = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq request = {.ifr_name = "eth0"};
    struct sockaddr_in *address = (void *)&request.ifr_addr;
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = inet_addr("10.7.7.7");
    if (ioctl(socket_, SIOCSIFADDR, &request))
        give_up("SIOCSIFADDR");
    struct sockaddr_in local = *address;
    if (ioctl(socket_, SIOCGIFFLAGS, &request))
        give_up("SIOCGIFFLAGS");
    request.ifr_flags |= IFF_UP;
    if (ioctl(socket_, SIOCSIFFLAGS, &request))
        give_up("SIOCSIFFLAGS");
    local.sin_port = htons(7777);
    if (bind(socket_, (void *)&local, sizeof local))
        give_up("bind");
}

int main(int count, char **words) {
    unsigned long counts[NODES];
    cpu_set_t cpus;
    for (int i = 1; i < count; i++) {
        if (strcmp(words[i], "card") == 0)
            open_card();
        else
            open_disk(atoi(words[i] + strlen("disk")));
    }
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    CPU_SET(1, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus))
        give_up("sched_setaffinity");
    set_policy("bind", "0");
    char *start = map(BYTES, 0);
    touch(start, BYTES);
    set_policy("default", "-");
    char pid[20];
    snprintf(pid, sizeof pid, "%d", getpid());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        memset(&cpus, 0xff, sizeof cpus);
        if (sched_setaffinity(0, sizeof cpus, &cpus))
            give_up("sched_setaffinity");
        dup2(open("attach.json", O_WRONLY | O_CREAT | O_TRUNC, 0644), 1);
        execlp("firsttouch", "firsttouch", "attach", pid, "--near-own-devices", "--json", (char *)NULL);
        give_up("firsttouch");
    }
    int status;
    if (waitpid(child, &status, 0) != child)
        give_up("waitpid");
    printf("attach exited with %d\n", WEXITSTATUS(status));
    pages_by_node(start, counts);
    print_counts("pages", counts);
    if (sched_getaffinity(0, sizeof cpus, &cpus))
        give_up("sched_getaffinity");
    printf("cpus");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            printf(" %d:1", cpu);
    printf("\n");
    return 0;
}
