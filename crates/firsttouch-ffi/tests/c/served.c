/* With the agent preloaded, placing nothing at first: the library switches the agent, and redirects nothing. */
#include <firsttouch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)
#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

int main(void)
{
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
    firsttouch_ism_off();
    free(block);
    CHECK(firsttouch_ism_list(NULL, 0) == 0 && firsttouch_ism_end() == FIRSTTOUCH_RESULT_OK);
    firsttouch_ism_trim();
    puts("done");
    return 0;
}
