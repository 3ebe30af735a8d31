/* Memory cleared in the background: begun, asked how far it is, cancelled or waited for; and regions that are ready.
 *
 *   cc fill.c $(pkg-config --cflags --libs firsttouch) -o fill && ./fill 256
 */
#include <errno.h>
#include <firsttouch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where a call failed. */
static void must(firsttouch_result result)
{
    if (result == FIRSTTOUCH_RESULT_OK)
        return;
    fprintf(stderr, "%s: %s\nhint: %s\n", firsttouch_message(result), strerror(errno), firsttouch_hint(result));
    exit(1);
}

int main(int count, char **words)
{
    uint64_t bytes = (count > 1 ? strtoull(words[1], NULL, 10) : 64) << 20;

    /* A thread on every CPU this process may use; a list of CPUs would name others. */
    firsttouch_filler *filler;
    must(firsttouch_filler_start(NULL, 0, &filler));
    firsttouch_knowledge known;
    must(firsttouch_filler_knowledge(filler, &known));
    printf("%.1f GB/s in place with %" PRIu32 " thread(s) of each node, %.1f GB/s on new pages with %" PRIu32 "\n",
           known.in_place_bytes_per_s / 1e9, known.threads_in_place, known.new_bytes_per_s / 1e9, known.threads_new);

    /* New memory: its pages are created, which clears them. */
    firsttouch_region *region;
    must(firsttouch_region_map(bytes, "thp", -1, &region));
    firsttouch_range whole = {firsttouch_region_address(region), firsttouch_region_bytes(region)};
    firsttouch_fill *fill;
    must(firsttouch_fill_begin(filler, &whole, 1, 0, FIRSTTOUCH_FILL_ANONYMOUS, &fill));
    /* Something else happens here; then the rest is waited for, with a share of the work. */
    must(firsttouch_fill_wait(fill));
    printf("new memory: %s\n", firsttouch_fill_poll(fill) ? "all zero" : "not done");
    firsttouch_fill_free(fill);

    /* Memory in use: two halves of it, with another byte, cancelled on the way. */
    firsttouch_range halves[2] = {{whole.address, whole.bytes / 2},
                                  {(char *)whole.address + whole.bytes / 2, whole.bytes - whole.bytes / 2}};
    must(firsttouch_fill_begin(filler, halves, 2, 7, 0, &fill));
    uint64_t filled, total;
    must(firsttouch_fill_progress(fill, &filled, &total));
    if (!firsttouch_fill_wait_for(fill, 100000)) /* at most a tenth of a millisecond */
        must(firsttouch_fill_cancel(fill));
    else
        must(firsttouch_fill_wait(fill));
    must(firsttouch_fill_progress(fill, &filled, &total));

    /* Exactly these parts are filled, and nothing else. */
    firsttouch_range parts[64];
    size_t number = firsttouch_fill_filled(fill, parts, 64);
    uint64_t sum = 0, sevens = 0;
    for (size_t part = 0; part < number && part < 64; part++)
        sum += parts[part].bytes;
    for (uint64_t byte = 0; byte < whole.bytes; byte++)
        sevens += ((unsigned char *)whole.address)[byte] == 7;
    printf("cancelled: %s\n", number > 64 || (sum == filled && sevens == filled) ? "told exactly" : "told wrongly");
    firsttouch_fill_free(fill);
    firsttouch_region_free(region);

    /* Two regions are always ready; one that is given back is cleared before anybody gets it. */
    firsttouch_stock stock = {bytes, "thp", -1, 2, 4, UINT64_MAX};
    firsttouch_pool *pool;
    must(firsttouch_pool_start(&stock, filler, &pool));
    firsttouch_filler_stop(filler);
    int was_ready = 0;
    if (!firsttouch_pool_wait_ready(pool, 1, (uint64_t)60 * 1000 * 1000 * 1000))
        return 1;
    must(firsttouch_pool_take(pool, &region, &was_ready));
    uint32_t ready, dirty;
    must(firsttouch_pool_level(pool, &ready, &dirty));
    printf("from the pool: %s\n", was_ready ? "ready" : "mapped now");
    memset(firsttouch_region_address(region), 1, firsttouch_region_bytes(region));
    firsttouch_pool_give(pool, region);
    firsttouch_pool_stop(pool);
    return 0;
}
