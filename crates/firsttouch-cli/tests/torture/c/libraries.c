/* Libraries that come and go and allocate meanwhile; and the switching of the allocator itself by a library's functions. */
#include "torture.h"
#include <dlfcn.h>
#include <sched.h>

atomic_int workers_running;
static int (*switch_on)(const char *, uint64_t, uint64_t);
static void (*switch_off)(void);

void begin_libraries(void)
{
    if (options.switched == NULL)
        return;
    void *library = dlopen(options.switched, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        dprintf(2, "torture: %s\n", dlerror());
    CHECK(library != NULL);
    switch_on = (int (*)(const char *, uint64_t, uint64_t))dlsym(library, "firsttouch_ism_on");
    switch_off = (void (*)(void))dlsym(library, "firsttouch_ism_off");
    CHECK(switch_on != NULL && switch_off != NULL);
}

/* Its constructor allocates, its destructor checks and frees. */
void op_library(struct worker *worker)
{
    (void)worker;
    if (options.plugin == NULL)
        return;
    void *library = dlopen(options.plugin, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        dprintf(2, "torture: %s\n", dlerror());
    CHECK(library != NULL);
    int (*is_whole)(void) = (int (*)(void))dlsym(library, "plugin_is_whole");
    CHECK(is_whole != NULL && is_whole());
    CHECK(dlclose(library) == 0);
}

/* Switches placing on and off while workers work, once for a few operations. */
void *switcher(void *value)
{
    static const char *const pages[] = {"4k", "thp", "64k", "thp"};
    static const uint64_t least[] = {64 << 10, 256 << 10, 1 << 20}, most[] = {6 << 20, UINT64_MAX};
    struct worker *worker = value;
    uint64_t seen = 0;
    while (atomic_load(&workers_running) > 0) {
        while (atomic_load(&workers_running) > 0 && operations_done() < seen + 3)
            sched_yield();
        seen = operations_done();
        if (below(worker, 3) == 0)
            switch_off();
        else
            CHECK(switch_on(pages[below(worker, 4)], least[below(worker, 3)], most[below(worker, 2)]) == 0);
    }
    return NULL;
}
