/* A region of memory on chosen pages, and the receipt for it.
 *
 *   cc region.c $(pkg-config --cflags --libs firsttouch) -o region && ./region 256 thp
 *
 * It has a name, so that whoever starts the program can put it elsewhere:
 *
 *   firsttouch run --object table:2m:prefer=1 -- ./region 256
 */
#include <errno.h>
#include <firsttouch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words)
{
    uint64_t mebibytes = count > 1 ? strtoull(words[1], NULL, 10) : 64;
    const char *pages = count > 2 ? words[2] : "thp";

    firsttouch_region *region;
    firsttouch_result result = firsttouch_region_map_named("table", mebibytes << 20, pages, getenv("FIRSTTOUCH_OBJECTS"), &region);
    if (result == FIRSTTOUCH_RESULT_OK)
        result = firsttouch_region_prefault(region);
    if (result != FIRSTTOUCH_RESULT_OK) {
        fprintf(stderr, "%s: %s\nhint: %s\n", firsttouch_message(result), strerror(errno), firsttouch_hint(result));
        firsttouch_region_free(region);
        return 1;
    }
    memset(firsttouch_region_address(region), 1, firsttouch_region_bytes(region));

    firsttouch_receipt receipt;
    firsttouch_region_receipt(region, &receipt);
    fprintf(stderr, "%" PRIu64 " bytes: %" PRIu64 " on huge pages, %" PRIu64 " on small ones\n", receipt.bytes,
            receipt.huge_bytes, receipt.small_bytes);
    if (receipt.reason)
        fprintf(stderr, "because of %s; remedy: %s\n", receipt.reason, receipt.remedy);

    size_t length = firsttouch_region_receipt_json(region, NULL, 0);
    char *json = (char *)malloc(length + 1);
    if (!json)
        return 1;
    firsttouch_region_receipt_json(region, json, length + 1);
    puts(json);
    free(json);
    firsttouch_region_free(region);
    return 0;
}
