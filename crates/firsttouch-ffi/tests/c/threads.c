/* Fills, pools and teams: what is answered to bad arguments, to use at the wrong time, and in a forked child. */
#include "check.h"
#include <errno.h>
#include <firsttouch.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK FIRSTTOUCH_RESULT_OK
#define BAD_ARGUMENT FIRSTTOUCH_RESULT_BAD_ARGUMENT
#define IN_USE FIRSTTOUCH_RESULT_IN_USE
#define OTHER_PROCESS FIRSTTOUCH_RESULT_OTHER_PROCESS
#define LONG ((uint64_t)60 * 1000 * 1000 * 1000)

static void nothing(const firsttouch_member *member, void *data) { (void)member, (void)data; }

static void no_part(const firsttouch_member *member, uint64_t begin, uint64_t end, void *data)
{
    (void)member, (void)begin, (void)end, (void)data;
}

/* The first CPU of this process. */
static uint32_t first_cpu(void)
{
    cpu_set_t cpus;
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    uint32_t cpu = 0;
    while (!CPU_ISSET(cpu, &cpus))
        cpu++;
    return cpu;
}

static void null_is_safe(void)
{
    uint64_t bytes;
    firsttouch_region *region;
    firsttouch_receipt receipt;
    CHECK(firsttouch_obtained(NULL, 1, &receipt) == BAD_ARGUMENT && firsttouch_obtained(&bytes, 8, NULL) == BAD_ARGUMENT);
    CHECK(firsttouch_obtained(&bytes, 0, &receipt) == BAD_ARGUMENT && firsttouch_obtained(&bytes, UINT64_MAX, &receipt) == BAD_ARGUMENT);
    CHECK(firsttouch_filler_start(NULL, 0, NULL) == BAD_ARGUMENT && firsttouch_filler_knowledge(NULL, NULL) == BAD_ARGUMENT);
    CHECK(firsttouch_fill_begin(NULL, NULL, 0, 0, 0, NULL) == BAD_ARGUMENT && firsttouch_fill_poll(NULL) == 0);
    CHECK(firsttouch_fill_progress(NULL, &bytes, NULL) == BAD_ARGUMENT && firsttouch_fill_wait_for(NULL, 1) == 0);
    CHECK(firsttouch_fill_wait(NULL) == BAD_ARGUMENT && firsttouch_fill_cancel(NULL) == BAD_ARGUMENT);
    CHECK(firsttouch_fill_filled(NULL, NULL, 0) == 0);
    firsttouch_fill_free(NULL);
    firsttouch_filler_stop(NULL);
    CHECK(firsttouch_pool_start(NULL, NULL, NULL) == BAD_ARGUMENT && firsttouch_pool_take(NULL, &region, NULL) == BAD_ARGUMENT);
    CHECK(!region && firsttouch_pool_level(NULL, NULL, NULL) == BAD_ARGUMENT && !firsttouch_pool_wait_ready(NULL, 0, 1));
    firsttouch_pool_give(NULL, NULL);
    firsttouch_pool_stop(NULL);
    CHECK(firsttouch_team_start(NULL, NULL) == BAD_ARGUMENT && firsttouch_team_start_on(NULL, NULL, 0, NULL) == BAD_ARGUMENT);
    CHECK(firsttouch_team_size(NULL) == 0 && firsttouch_team_groups(NULL) == 0);
    CHECK(firsttouch_team_run(NULL, nothing, NULL) == BAD_ARGUMENT);
    CHECK(firsttouch_team_for(NULL, 0, 1, 0, 0, no_part, NULL) == BAD_ARGUMENT);
    CHECK(firsttouch_team_map(NULL, 1, "4k", &region) == BAD_ARGUMENT && firsttouch_team_stop(NULL) == OK);
    CHECK(firsttouch_barrier(NULL) == 0 && firsttouch_group_barrier(NULL) == 0);
}

/* Checks a fill's bytes against what it says it has filled. */
static void check_parts(const firsttouch_fill *fill, const unsigned char *memory, size_t bytes, unsigned char value)
{
    firsttouch_range parts[64];
    size_t count = firsttouch_fill_filled(fill, parts, 64), at = 0;
    CHECK(count <= 64 && firsttouch_fill_filled(fill, NULL, 0) == count);
    for (size_t part = 0; part <= count; part++) {
        size_t begin = part < count ? (size_t)((unsigned char *)parts[part].address - memory) : bytes;
        for (; at < begin; at++)
            CHECK(memory[at] == 0xaa);
        for (size_t end = begin + (part < count ? parts[part].bytes : 0); at < end; at++)
            CHECK(memory[at] == value);
    }
}

static void fills(firsttouch_filler *filler)
{
    const size_t bytes = 12 * MIB + 5;
    unsigned char *memory = malloc(bytes);
    firsttouch_fill *fill;
    firsttouch_range one = {memory, bytes}, twice[2] = {{memory, 10}, {memory + 9, 1}}, none[2] = {{NULL, 0}, {memory, 0}};
    CHECK(firsttouch_fill_begin(filler, twice, 2, 0, 0, &fill) == BAD_ARGUMENT && !fill);
    CHECK(firsttouch_fill_begin(filler, NULL, 1, 0, 0, &fill) == BAD_ARGUMENT && !fill);
    CHECK(firsttouch_fill_begin(filler, &one, 1, 0, 4, &fill) == BAD_ARGUMENT && !fill);
    CHECK(firsttouch_fill_begin(filler, none, 2, 0, 0, &fill) == OK);
    CHECK(firsttouch_fill_poll(fill) == 1 && firsttouch_fill_wait(fill) == OK && firsttouch_fill_filled(fill, NULL, 0) == 0);
    firsttouch_fill_free(fill);
    for (int way = 0; way < 3; way++) {
        uint64_t filled, total;
        memset(memory, 0xaa, bytes);
        CHECK(firsttouch_fill_begin(filler, &one, 1, 7, way == 0 ? FIRSTTOUCH_FILL_READ_NEXT : 0, &fill) == OK);
        CHECK(firsttouch_fill_filled(fill, NULL, 0) == 0);
        if (way == 0)
            CHECK(firsttouch_fill_wait(fill) == OK);
        else if (way == 1)
            CHECK(firsttouch_fill_cancel(fill) == OK);
        else
            CHECK(firsttouch_fill_wait_for(fill, LONG) == 1 && firsttouch_fill_wait(fill) == OK);
        CHECK(firsttouch_fill_progress(fill, &filled, &total) == OK && total == bytes);
        CHECK(way == 1 ? filled <= total : filled == total && firsttouch_fill_poll(fill) == 1);
        check_parts(fill, memory, bytes, 7);
        CHECK(firsttouch_fill_cancel(fill) == OK && firsttouch_fill_wait(fill) == OK);
        firsttouch_fill_free(fill);
    }
    /* Freed on the way: cancelled, and the memory is ours again. */
    CHECK(firsttouch_fill_begin(filler, &one, 1, 1, 0, &fill) == OK);
    firsttouch_fill_free(fill);
    free(memory);
}

static void pools(firsttouch_filler *filler)
{
    firsttouch_stock stock = {4 * MIB, "thp", -1, 1, 2, UINT64_MAX};
    firsttouch_pool *pool;
    firsttouch_region *region;
    uint32_t ready, dirty;
    stock.pages = "no such";
    CHECK(firsttouch_pool_start(&stock, NULL, &pool) == FIRSTTOUCH_RESULT_BAD_PAGES && !pool);
    stock.pages = NULL;
    CHECK(firsttouch_pool_start(&stock, NULL, &pool) == BAD_ARGUMENT);
    stock.pages = "thp", stock.ready = 3;
    CHECK(firsttouch_pool_start(&stock, NULL, &pool) == BAD_ARGUMENT);
    stock.ready = 1;
    CHECK(firsttouch_pool_start(&stock, filler, &pool) == OK && firsttouch_pool_wait_ready(pool, 1, LONG));
    for (int round = 0; round < 5; round++) {
        CHECK(firsttouch_pool_take(pool, &region, NULL) == OK && firsttouch_region_bytes(region) >= 4 * MIB);
        unsigned char *memory = firsttouch_region_address(region);
        for (size_t byte = 0; byte < 4 * MIB; byte += 61)
            CHECK(memory[byte] == 0);
        memset(memory, 9, 4 * MIB);
        firsttouch_pool_give(pool, region);
    }
    CHECK(firsttouch_pool_level(pool, &ready, &dirty) == OK && ready + dirty <= 2);
    firsttouch_pool_stop(pool);
}

struct seen {
    firsttouch_team *team;
    unsigned touched[1000];
    unsigned last, came, group_came[2];
    uint32_t cpu;
};

static void look(const firsttouch_member *member, void *data)
{
    struct seen *seen = data;
    CHECK(member->team_size == 3 && member->index < 3 && member->cpu == seen->cpu && sched_getcpu() == (int)seen->cpu);
    CHECK(member->group == (member->index == 2) && member->group_size == (member->group ? 1 : 2));
    CHECK(member->index_in_group == (member->group ? 0 : member->index));
    __atomic_fetch_add(&seen->group_came[member->group], 1, __ATOMIC_RELAXED);
    firsttouch_group_barrier(member);
    CHECK(__atomic_load_n(&seen->group_came[member->group], __ATOMIC_RELAXED) == member->group_size);
    __atomic_fetch_add(&seen->came, 1, __ATOMIC_RELAXED);
    if (firsttouch_barrier(member))
        __atomic_fetch_add(&seen->last, 1, __ATOMIC_RELAXED);
    CHECK(__atomic_load_n(&seen->came, __ATOMIC_RELAXED) == 3);
    CHECK(firsttouch_team_run(seen->team, nothing, NULL) == IN_USE && firsttouch_team_stop(seen->team) == IN_USE);
}

static void touch(const firsttouch_member *member, uint64_t begin, uint64_t end, void *data)
{
    struct seen *seen = data;
    (void)member;
    for (uint64_t index = begin; index < end; index++)
        __atomic_fetch_add(&seen->touched[index], 1, __ATOMIC_RELAXED);
}

static void teams(uint32_t cpu)
{
    uint32_t cpus[3] = {cpu, cpu, cpu}, absent = 8191;
    size_t sizes[2] = {2, 1}, empty[2] = {3, 0};
    firsttouch_team *team;
    firsttouch_region *regions[2];
    CHECK(firsttouch_team_start("no such", &team) == BAD_ARGUMENT && !team);
    CHECK(firsttouch_team_start("100000x1", &team) == FIRSTTOUCH_RESULT_NO_ROOM && !team);
    CHECK(firsttouch_team_start_on(cpus, empty, 2, &team) == BAD_ARGUMENT && !team);
    CHECK(firsttouch_team_start_on(&absent, sizes + 1, 1, &team) == FIRSTTOUCH_RESULT_NO_CPU && errno == EINVAL && !team);
    CHECK(firsttouch_team_start_on(cpus, sizes, 2, &team) == OK);
    CHECK(firsttouch_team_size(team) == 3 && firsttouch_team_groups(team) == 2);
    struct seen seen = {.team = team, .cpu = cpu};
    CHECK(firsttouch_team_run(team, look, &seen) == OK && seen.last == 1);
    CHECK(firsttouch_team_run(team, NULL, &seen) == BAD_ARGUMENT);
    unsigned expected = 0;
    for (uint32_t schedule = 0; schedule < 3; schedule++)
        for (uint64_t part = 0; part < 20; part += 7) {
            CHECK(firsttouch_team_for(team, 10, 1000, schedule, part, touch, &seen) == OK);
            expected++;
            for (size_t index = 0; index < 1000; index++)
                CHECK(seen.touched[index] == (index < 10 ? 0 : expected));
        }
    CHECK(firsttouch_team_for(team, 0, 1, 3, 0, touch, &seen) == BAD_ARGUMENT);
    CHECK(firsttouch_team_for(team, 1, 0, 0, 0, touch, &seen) == BAD_ARGUMENT);
    CHECK(firsttouch_team_map(team, 5000, "no such", regions) == FIRSTTOUCH_RESULT_BAD_PAGES && !regions[0] && !regions[1]);
    CHECK(firsttouch_team_map(team, 5000, "4k", regions) == OK);
    for (int group = 0; group < 2; group++) {
        firsttouch_receipt receipt;
        CHECK(firsttouch_region_bytes(regions[group]) == 8192 && !*(char *)firsttouch_region_address(regions[group]));
        CHECK(firsttouch_region_receipt(regions[group], &receipt) == OK && (!receipt.known || receipt.small_bytes == 8192));
        firsttouch_region_free(regions[group]);
    }
    CHECK(firsttouch_team_stop(team) == OK);
}

/* Threads are not forked: nothing waits for them, and what the child frees is its own. */
static void children(firsttouch_filler *filler, uint32_t cpu)
{
    size_t one = 1;
    firsttouch_stock stock = {4 * MIB, "thp", -1, 1, 2, UINT64_MAX};
    firsttouch_pool *pool;
    firsttouch_team *team;
    firsttouch_region *region;
    firsttouch_fill *fill, *fill_of_child;
    firsttouch_knowledge known;
    CHECK(firsttouch_pool_start(&stock, filler, &pool) == OK && firsttouch_team_start_on(&cpu, &one, 1, &team) == OK);
    CHECK(firsttouch_pool_take(pool, &region, NULL) == OK);
    unsigned char *memory = malloc(24 * MIB);
    firsttouch_range range = {memory, 24 * MIB};
    CHECK(firsttouch_fill_begin(filler, &range, 1, 1, 0, &fill) == OK);
    pid_t child = fork();
    if (child == 0) {
        CHECK(firsttouch_fill_begin(filler, &range, 1, 2, 0, &fill_of_child) == OTHER_PROCESS && !fill_of_child);
        CHECK(firsttouch_filler_knowledge(filler, &known) == OTHER_PROCESS);
        CHECK(firsttouch_fill_poll(fill) == 0 && firsttouch_fill_wait_for(fill, LONG) == 0);
        CHECK(firsttouch_fill_progress(fill, NULL, NULL) == OTHER_PROCESS && firsttouch_fill_wait(fill) == OTHER_PROCESS);
        CHECK(firsttouch_fill_cancel(fill) == OTHER_PROCESS);
        firsttouch_fill_free(fill);
        firsttouch_filler_stop(filler);
        firsttouch_pool_give(pool, region);
        CHECK(firsttouch_pool_take(pool, &region, NULL) == OTHER_PROCESS && !region);
        CHECK(firsttouch_pool_level(pool, NULL, NULL) == OTHER_PROCESS && !firsttouch_pool_wait_ready(pool, 0, LONG));
        firsttouch_pool_stop(pool);
        CHECK(firsttouch_team_run(team, nothing, NULL) == OTHER_PROCESS && firsttouch_team_size(team) == 1);
        CHECK(firsttouch_team_stop(team) == OK);
        /* Its own it may have. */
        CHECK(firsttouch_team_start_on(&cpu, &one, 1, &team) == OK && firsttouch_team_run(team, nothing, NULL) == OK);
        CHECK(firsttouch_team_stop(team) == OK);
        _exit(0);
    }
    int ended;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    CHECK(firsttouch_fill_wait(fill) == OK && memory[0] == 1 && memory[24 * MIB - 1] == 1);
    firsttouch_fill_free(fill);
    free(memory);
    firsttouch_pool_give(pool, region);
    firsttouch_pool_stop(pool);
    CHECK(firsttouch_team_run(team, nothing, NULL) == OK && firsttouch_team_stop(team) == OK);
}

int main(void)
{
    uint32_t cpu = first_cpu();
    firsttouch_filler *filler;
    alarm(300); /* a deadlock is a failure */
    null_is_safe();
    CHECK(firsttouch_filler_start(NULL, 1, &filler) == BAD_ARGUMENT && !filler);
    CHECK(firsttouch_filler_start(&cpu, 1, &filler) == OK);
    fills(filler);
    pools(filler);
    teams(cpu);
    children(filler, cpu);
    firsttouch_filler_stop(filler);
    puts("done");
    return 0;
}
