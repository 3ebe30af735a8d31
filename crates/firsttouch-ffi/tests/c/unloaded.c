/* The library loaded by dlopen, out of sight of others, twice from two files, and closed while blocks are live. */
#include "check.h"
#include <dlfcn.h>
#include <firsttouch.h>
#include <string.h>
#include <unistd.h>

typedef firsttouch_result (*on_function)(const char *, uint64_t, uint64_t);
typedef firsttouch_result (*status_function)(firsttouch_session *, size_t);
typedef size_t (*list_function)(firsttouch_block *, size_t);
typedef firsttouch_result (*end_function)(void);

int main(int count, char **words)
{
    CHECK(count == 3);
    alarm(300); /* a deadlock is a failure */
    void *first = dlopen(words[1], RTLD_NOW | RTLD_LOCAL), *second = dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
    CHECK(first && second && first != second);
    on_function on = (on_function)dlsym(first, "firsttouch_ism_on"), on_2 = (on_function)dlsym(second, "firsttouch_ism_on");
    list_function list = (list_function)dlsym(first, "firsttouch_ism_list"),
                  list_2 = (list_function)dlsym(second, "firsttouch_ism_list");
    status_function status_2 = (status_function)dlsym(second, "firsttouch_ism_status");
    end_function end = (end_function)dlsym(first, "firsttouch_ism_end");
    CHECK(on != on_2);

    CHECK(on("thp", MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK);
    CHECK(on_2("thp", 2 * MIB, 64 * MIB) == FIRSTTOUCH_RESULT_OK); /* by the first */
    firsttouch_session now;
    CHECK(status_2(&now, sizeof now) == FIRSTTOUCH_RESULT_OK);
    CHECK(now.via == FIRSTTOUCH_VIA_OTHER_COPY && now.enabled && now.min_bytes == 2 * MIB);
    char *block = malloc(4 * MIB);
    CHECK(list(NULL, 0) == 1 && list_2(NULL, 0) == 1);

    dlclose(second);
    CHECK(end() == FIRSTTOUCH_RESULT_BUSY);
    dlclose(first);
    memset(block, 1, 4 * MIB);
    block = realloc(block, 8 * MIB); /* still ours */
    CHECK(block && block[4 * MIB - 1] == 1);
    free(block);

    first = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(first && (on_function)dlsym(first, "firsttouch_ism_on") == on);
    CHECK(list(NULL, 0) == 0 && end() == FIRSTTOUCH_RESULT_OK);
    dlclose(first);
    free(malloc(4 * MIB));
    puts("done");
    return 0;
}
