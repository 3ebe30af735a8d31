/* Huge pages inside a running session: on, what is placed, off.
 *
 *   cc session.c $(pkg-config --cflags --libs firsttouch) -o session && ./session
 */
#include <firsttouch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(const char *when)
{
    firsttouch_session now;
    firsttouch_ism_status(&now, sizeof now);
    firsttouch_block blocks[16];
    size_t count = firsttouch_ism_list(blocks, 16);
    printf("%s: %s, %zu placed\n", when, now.enabled ? "on" : "off", count);
    for (size_t row = 0; row < count && row < 16; row++) {
        printf("  %" PRIu64 " at %#" PRIx64 ": %" PRIu64 " bytes", blocks[row].id, blocks[row].address, blocks[row].bytes);
        if (blocks[row].huge_bytes != FIRSTTOUCH_UNKNOWN_BYTES)
            printf(", %" PRIu64 " on huge pages", blocks[row].huge_bytes);
        puts("");
    }
}

int main(void)
{
    const size_t bytes = 64 << 20;
    show("at first");

    /* From 1 MiB to 4 GiB, by everybody: no library was chosen. */
    firsttouch_result result = firsttouch_ism_on("thp", 1 << 20, (uint64_t)4 << 30);
    if (result != FIRSTTOUCH_RESULT_OK) {
        fprintf(stderr, "%s\nhint: %s\n", firsttouch_message(result), firsttouch_hint(result));
        return 1;
    }
    char *block = (char *)malloc(bytes);
    if (!block)
        return 1;
    memset(block, 1, bytes);
    show("with a block");

    firsttouch_ism_off();
    block = (char *)realloc(block, 2 * bytes); /* a placed block stays one */
    if (!block || block[bytes - 1] != 1)
        return 1;
    show("grown");

    printf("not yet: %s\n", firsttouch_message(firsttouch_ism_end()));
    free(block);
    show("without");
    printf("the end: %s\n", firsttouch_message(firsttouch_ism_end()));
    return 0;
}
