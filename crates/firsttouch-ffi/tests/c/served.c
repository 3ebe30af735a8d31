/* With the agent preloaded, placing nothing at first: the library switches the agent, and redirects nothing. */
#include "check.h"
#include <dlfcn.h>
#include <firsttouch.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes on huge pages of the block at an address, as far as the kernel tells. */
static uint64_t huge_bytes(const void *block)
{
    firsttouch_block rows[16];
    size_t count = firsttouch_ism_list(rows, 16);
    for (size_t row = 0; row < count && row < 16; row++)
        if (rows[row].address == (uint64_t)(size_t)block)
            return rows[row].huge_bytes == FIRSTTOUCH_UNKNOWN_BYTES ? 0 : rows[row].huge_bytes;
    CHECK(!"the block is placed");
    return 0;
}

/* A write after a fork splits a huge page for good, unless whoever placed it heard of the fork and mends it. */
static void forks_are_seen(void)
{
    const size_t bytes = 16 * MIB;
    unsigned char *kept = malloc(bytes);
    memset(kept, 1, bytes);
    if (huge_bytes(kept) < bytes) {
        free(kept);
        return; /* no huge pages here */
    }
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        char over;
        close(ends[1]);
        CHECK(read(ends[0], &over, 1) == 0);
        /* The heap is whole: it serves and lists here, too. */
        unsigned char *own = malloc(4 * MIB);
        memset(own, 3, 4 * MIB);
        for (size_t byte = 0; byte < bytes; byte++)
            CHECK(kept[byte] == 1);
        CHECK(firsttouch_ism_list(NULL, 0) == 3);
        _exit(0);
    }
    for (size_t byte = 0; byte < bytes; byte += 2 * MIB)
        kept[byte] = 2;
    CHECK(huge_bytes(kept) < 2 * MIB);
    close(ends[1]);
    int ended;
    CHECK(waitpid(child, &ended, 0) == child && ended == 0);
    /* Some time after the fork, at an allocation: what lies between the block's first and last whole huge page. */
    while (huge_bytes(kept) < bytes - 4 * MIB) {
        void *volatile again = malloc(4 * MIB); /* volatile, so that it is not left out */
        free(again);
    }
    CHECK(kept[0] == 2 && kept[1] == 1);
    free(kept);
}

int main(void)
{
    alarm(300); /* what never comes is a failure */
    firsttouch_session now;
    firsttouch_block row;
    CHECK(firsttouch_ism_status(&now, sizeof now) == FIRSTTOUCH_RESULT_OK);
    CHECK(now.via == FIRSTTOUCH_VIA_AGENT && !now.enabled);
    CHECK(firsttouch_ism_choose("libnothing") == FIRSTTOUCH_RESULT_OK);
    CHECK(firsttouch_ism_on("no such", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_BAD_PAGES);
    CHECK(firsttouch_ism_on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    char *block = malloc(4 * MIB);
    memset(block, 1, 4 * MIB);
    CHECK(firsttouch_ism_list(&row, 1) == 1 && row.bytes == 4 * MIB && row.address == (uint64_t)(size_t)block);
    CHECK(firsttouch_ism_status(&now, sizeof now) == FIRSTTOUCH_RESULT_OK);
    CHECK(now.enabled && now.live_blocks == 1 && now.max_bytes == 64 * MIB && now.redirected_slots == 0);
    /* The agent, which may know of more, fills no more than its caller has. */
    void (*agent_status)(void *, size_t) = dlsym(RTLD_DEFAULT, "firsttouch_agent_status");
    uint32_t known[32] = {0};
    CHECK(agent_status != NULL);
    agent_status(known, 2 * sizeof *known);
    CHECK(known[0] == 1 && known[1] == 1);
    for (size_t word = 2; word < 32; word++)
        CHECK(known[word] == 0);
    forks_are_seen();
    firsttouch_ism_off();
    free(block);
    CHECK(firsttouch_ism_list(NULL, 0) == 0 && firsttouch_ism_end() == FIRSTTOUCH_RESULT_OK);
    firsttouch_ism_trim();
    puts("done");
    return 0;
}
