/* watched: 16 MiB on node 1, looked at by `firsttouch watch` before and after half of them, and the program, move to node 0. */
#include "numa.h"
#include <sys/wait.h>

#define BYTES (16UL << 20)
#define HALF (BYTES / PAGE / 2)

static void look(void) {
    char self[16];
    int status;
    snprintf(self, sizeof self, "%d", getpid());
    pid_t child = fork();
    if (child == 0) {
        execlp("firsttouch", "firsttouch", "watch", "--json", "--samples", "1", self, NULL);
        give_up("firsttouch");
    }
    if (waitpid(child, &status, 0) != child || status)
        give_up("watch");
}

int main(void) {
    static void *pages[HALF];
    static int nodes[HALF], status[HALF];
    set_policy("bind", "1");
    char *start = map(BYTES, 0);
    touch(start, BYTES);
    set_policy("default", "-");
    pin(2);
    look();
    for (size_t i = 0; i < HALF; i++)
        pages[i] = start + i * PAGE;
    if (syscall(SYS_move_pages, 0, HALF, pages, nodes, status, 2))
        give_up("move_pages");
    pin(0);
    look();
    return 0;
}
