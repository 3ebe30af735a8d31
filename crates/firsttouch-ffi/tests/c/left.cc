/* Work that is left otherwise than by returning: the process must end at once, and not wait for ever. Argument: how. */
#include <cstring>
#include <firsttouch.h>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <unistd.h>

static void leave(const firsttouch_member *member, void *how)
{
    if (member->index == 0) {
        if (std::strcmp(static_cast<char *>(how), "throw") == 0)
            throw std::runtime_error("as planned");
        pthread_exit(nullptr);
    }
    firsttouch_barrier(member); /* for the one that never comes */
}

int main(int, char **words)
{
    alarm(300);
    uint32_t cpus[2] = {};
    cpus[0] = cpus[1] = static_cast<uint32_t>(sched_getcpu());
    size_t both = 2;
    firsttouch_team *team;
    if (firsttouch_team_start_on(cpus, &both, 1, &team) != FIRSTTOUCH_RESULT_OK)
        return 1;
    firsttouch_team_run(team, leave, words[1]);
    return 0;
}
