/* Defects on purpose, for the checkers to find. Argument: which. */
#include "check.h"
#include <firsttouch.h>
#include <string.h>

int main(int count, char **words)
{
    firsttouch_region *region;
    CHECK(count == 2 && firsttouch_region_map(8192, "4k", -1, &region) == FIRSTTOUCH_RESULT_OK);
    if (strcmp(words[1], "overflow") == 0) {
        /* Less room than is said: the library writes a few bytes behind the end. */
        size_t length = firsttouch_region_receipt_json(region, NULL, 0);
        char *text = malloc(length - 8);
        firsttouch_region_receipt_json(region, text, length + 1);
        free(text);
    }
    if (strcmp(words[1], "leak") != 0)
        firsttouch_region_free(region);
    region = NULL;
    return 0;
}
