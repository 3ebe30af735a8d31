/* A team of bound threads: a sum in parallel, storage of each group on its own node, barriers.
 *
 *   cc team.c $(pkg-config --cflags --libs firsttouch) -o team && ./team 2x1
 */
#include <errno.h>
#include <firsttouch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1 << 20, GROUPS = 256 };

/* What every member sees. */
struct shared {
    uint32_t *numbers;
    firsttouch_region *storage[GROUPS];
};

/* Who touches an element first: with the same static schedule, whoever works on it later. */
static void make(const firsttouch_member *member, uint64_t begin, uint64_t end, void *data)
{
    struct shared *shared = (struct shared *)data;
    (void)member;
    for (uint64_t index = begin; index < end; index++)
        shared->numbers[index] = (uint32_t)index;
}

/* Adds a part to the sum of the member, which lies in the storage of its group. */
static void add(const firsttouch_member *member, uint64_t begin, uint64_t end, void *data)
{
    struct shared *shared = (struct shared *)data;
    uint64_t *sums = (uint64_t *)firsttouch_region_address(shared->storage[member->group]);
    uint64_t sum = 0;
    for (uint64_t index = begin; index < end; index++)
        sum += shared->numbers[index];
    sums[member->index_in_group] += sum;
}

/* Every group adds its members' sums, and the first group those of all groups. */
static void gather(const firsttouch_member *member, void *data)
{
    struct shared *shared = (struct shared *)data;
    uint64_t *sums = (uint64_t *)firsttouch_region_address(shared->storage[member->group]);
    firsttouch_group_barrier(member);
    if (member->index_in_group == 0)
        for (uint32_t other = 1; other < member->group_size; other++)
            sums[0] += sums[other];
    firsttouch_barrier(member);
    if (member->index == 0)
        for (uint32_t group = 1; group < GROUPS && shared->storage[group]; group++)
            sums[0] += *(uint64_t *)firsttouch_region_address(shared->storage[group]);
}

static void must(firsttouch_result result)
{
    if (result == FIRSTTOUCH_RESULT_OK)
        return;
    fprintf(stderr, "%s: %s\nhint: %s\n", firsttouch_message(result), strerror(errno), firsttouch_hint(result));
    exit(1);
}

int main(int count, char **words)
{
    static struct shared shared;
    firsttouch_team *team;
    /* Cores of a group x groups. firsttouch_team_start_on() takes lists of CPUs. */
    must(firsttouch_team_start(count > 1 ? words[1] : "1x1", &team));
    if (firsttouch_team_groups(team) > GROUPS)
        return 1;
    must(firsttouch_team_map(team, 4096, "4k", shared.storage));
    firsttouch_region *region;
    must(firsttouch_region_map(ELEMENTS * sizeof(uint32_t), "thp", -1, &region));
    shared.numbers = (uint32_t *)firsttouch_region_address(region);

    must(firsttouch_team_for(team, 0, ELEMENTS, FIRSTTOUCH_SCHEDULE_STATIC, 0, make, &shared));
    must(firsttouch_team_for(team, 0, ELEMENTS, FIRSTTOUCH_SCHEDULE_DYNAMIC, 10000, add, &shared));
    must(firsttouch_team_run(team, gather, &shared));
    printf("%zu threads in %zu groups: %" PRIu64 "\n", firsttouch_team_size(team), firsttouch_team_groups(team),
           *(uint64_t *)firsttouch_region_address(shared.storage[0]));

    for (size_t group = 0; group < firsttouch_team_groups(team); group++)
        firsttouch_region_free(shared.storage[group]);
    firsttouch_region_free(region);
    must(firsttouch_team_stop(team));
    return 0;
}
